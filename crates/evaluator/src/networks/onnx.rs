//! Networks for other programs: the plan written as an ONNX graph (operator set 17). Planes go in as `board`, `[N, planes, 4, 4]`, or, of
//! the three paths, tiles as `[N, 16]` whole numbers; `outputs` are what the role says, in the directions of the board that went in.

use super::model::Model;
use super::plan::{NORM_EPSILON, Op, SIDE};
use super::protobuf::Message;

/// Numbers of ONNX's types and fields, see `onnx.proto`.
const FLOAT: i64 = 1;
const INT64: i64 = 7;
const OPERATORS: i64 = 17;

/// One attribute of an operation.
enum Attribute<'a> {
    Numbers(&'a str, Vec<i64>),
    Number(&'a str, i64),
    Float(&'a str, f32),
}

/// The file of a network.
pub fn export(model: &Model) -> Vec<u8> {
    let plan = model.plan();
    let mut graph = Graph { nodes: Vec::new(), model };
    for node in 0..plan.nodes.len() {
        graph.add(node);
    }
    let parts: Vec<String> = plan.outputs.iter().map(|&node| format!("{node}.flat")).collect();
    for (&node, part) in plan.outputs.iter().zip(&parts) {
        graph.node("Flatten", &[&node.to_string()], part, &[Attribute::Number("axis", 1)]);
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    graph.node("Concat", &parts, "outputs", &[Attribute::Number("axis", 1)]);
    let embeds = plan.nodes.iter().any(|node| matches!(node.op, Op::Embed { .. }));
    let input = match embeds {
        true => value_info("board", INT64, &[SIDE * SIDE]),
        false => value_info("board", FLOAT, &[plan.nodes[0].shape.channels, SIDE, SIDE]),
    };
    let mut message = graph.nodes.iter().fold(Message::default(), |message, node| message.message(1, node));
    message = message.text(2, model.row().name);
    for (i, array) in plan.arrays.iter().enumerate() {
        message = message.message(5, &tensor(&array.name, &array.shape, model.array(i)));
    }
    if embeds {
        let map = [0, plan.nodes[0].shape.channels as i64, SIDE as i64, SIDE as i64];
        message = message.message(5, &whole_numbers("map", &map));
    }
    message = message.message(11, &input).message(12, &value_info("outputs", FLOAT, &[model.role().outputs()]));
    let operators = Message::default().text(1, "").number(2, OPERATORS);
    Message::default()
        .number(1, 8)
        .text(2, "afterstate")
        .message(7, &message)
        .message(8, &operators)
        .message(14, &property("architecture", &format!("{}:{}", model.row().name, model.sizes())))
        .message(14, &property("outputs", model.role().name()))
        .message(14, &property("unit", &format!("{} points", model.unit())))
        .done()
}

fn property(key: &str, value: &str) -> Message {
    Message::default().text(1, key).text(2, value)
}

/// Name, type and shape of an input or output; the first dimension is `N`.
fn value_info(name: &str, kind: i64, shape: &[usize]) -> Message {
    let dimension = |size: &usize| Message::default().number(1, *size as i64);
    let mut dimensions = Message::default().message(1, &Message::default().text(2, "N"));
    for size in shape {
        dimensions = dimensions.message(1, &dimension(size));
    }
    let tensor = Message::default().number(1, kind).message(2, &dimensions);
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor))
}

fn tensor(name: &str, shape: &[usize], numbers: &[f32]) -> Message {
    let message = shape.iter().fold(Message::default(), |message, size| message.number(1, *size as i64));
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    message.number(2, FLOAT).text(8, name).bytes(9, &bytes)
}

fn whole_numbers(name: &str, numbers: &[i64]) -> Message {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    Message::default().number(1, numbers.len() as i64).number(2, INT64).text(8, name).bytes(9, &bytes)
}

struct Graph<'m> {
    nodes: Vec<Message>,
    model: &'m Model,
}

impl Graph<'_> {
    fn node(&mut self, kind: &str, inputs: &[&str], output: &str, attributes: &[Attribute<'_>]) {
        let message = inputs.iter().fold(Message::default(), |message, input| message.text(1, input));
        let mut message = message.text(2, output).text(3, &format!("{kind} {output}")).text(4, kind);
        for attribute in attributes {
            let attribute = match attribute {
                Attribute::Number(name, value) => Message::default().text(1, name).number(3, *value).number(20, 2),
                Attribute::Float(name, value) => Message::default().text(1, name).float(2, *value).number(20, 1),
                Attribute::Numbers(name, values) => {
                    let message = Message::default().text(1, name);
                    values.iter().fold(message, |message, value| message.number(8, *value)).number(20, 7)
                }
            };
            message = message.message(5, &attribute);
        }
        self.nodes.push(message);
    }

    /// The node of the plan, as operations whose output is named by its number.
    fn add(&mut self, node: usize) {
        let plan = self.model.plan();
        let name = |array: usize| plan.arrays[array].name.as_str();
        let (made, channels) = (node.to_string(), plan.nodes[node].shape.channels as i64);
        let of = |from: &usize| from.to_string();
        match &plan.nodes[node].op {
            Op::Input(_) => self.node("Identity", &["board"], &made, &[]),
            Op::Embed { weight, .. } => {
                self.node("Gather", &[name(*weight), "board"], "vectors", &[Attribute::Number("axis", 0)]);
                let turned = Attribute::Numbers("perm", vec![0, 2, 1]);
                self.node("Transpose", &["vectors"], "by_channel", &[turned]);
                self.node("Reshape", &["by_channel", "map"], &made, &[]);
            }
            Op::Conv { from, weight, bias, padding, .. } => {
                let from = of(from);
                let inputs: Vec<&str> = [from.as_str(), name(*weight)].into_iter().chain(bias.map(name)).collect();
                self.node("Conv", &inputs, &made, &[Attribute::Numbers("pads", vec![*padding as i64; 4])]);
            }
            Op::Depthwise { from, weight, bias, .. } => {
                let inputs = [&of(from), name(*weight), name(*bias)];
                self.node("Conv", &inputs, &made, &[Attribute::Number("group", channels)]);
            }
            Op::BatchNorm { from, first } => {
                let inputs = [&of(from), name(*first), name(first + 1), name(first + 2), name(first + 3)];
                self.node("BatchNormalization", &inputs, &made, &[Attribute::Float("epsilon", NORM_EPSILON)]);
            }
            Op::LayerNorm { from, first } => {
                let attributes = [Attribute::Number("axis", 1), Attribute::Float("epsilon", NORM_EPSILON)];
                self.node("LayerNormalization", &[&of(from), name(*first), name(first + 1)], &made, &attributes);
            }
            Op::Relu { from } => self.node("Relu", &[&of(from)], &made, &[]),
            Op::Tanh { from } => self.node("Tanh", &[&of(from)], &made, &[]),
            Op::Dropout { from, .. } => self.node("Identity", &[&of(from)], &made, &[]),
            Op::MaxPool { from } => {
                let attributes = [Attribute::Numbers("kernel_shape", vec![2, 2])];
                self.node("MaxPool", &[&of(from)], &made, &attributes);
            }
            Op::Linear { from, weight, bias } => {
                let flat = format!("{made}.in");
                self.node("Flatten", &[&of(from)], &flat, &[Attribute::Number("axis", 1)]);
                self.node("Gemm", &[&flat, name(*weight), name(*bias)], &made, &[Attribute::Number("transB", 1)]);
            }
            Op::Join { from } => {
                let parts: Vec<String> = from.iter().map(|part| format!("{made}.{part}")).collect();
                for (part, flat) in from.iter().zip(&parts) {
                    self.node("Flatten", &[&of(part)], flat, &[Attribute::Number("axis", 1)]);
                }
                let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
                self.node("Concat", &parts, &made, &[Attribute::Number("axis", 1)]);
            }
            Op::Add { from: [a, b] } => self.node("Add", &[&of(a), &of(b)], &made, &[]),
        }
    }
}
