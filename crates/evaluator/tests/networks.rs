//! Networks of other programs: files that PyTorch wrote are read, and play as PyTorch said; what we write as ONNX is what onnxruntime was
//! checked with. `scripts/golden-networks.py` made the files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use afterstate_board::Board;
use afterstate_evaluator::lookup::Role;
use afterstate_evaluator::networks::{Compiled, Model, Row, export_onnx, import, plain};
use safetensors::SafeTensors;

const GOLDEN: [(&str, &str, Role); 4] = [
    ("value-cnn", "filters=24,dense=16", Role::Value),
    ("dual-path", "channels=10,width=12,head=16", Role::Policy),
    ("zeronet", "blocks=2,channels=9", Role::Policy),
    ("three-path", "channels=10,features=24,head=12", Role::Policy),
];

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/networks").join(name)
}

fn golden(name: &str, sizes: &str, role: Role) -> Model {
    let sizes = format!("{sizes},seen=as-it-lies");
    let row = Row::named(name).unwrap();
    import(&file(&format!("{name}.safetensors")), row, &sizes, (role, 1.0), &BTreeMap::new()).unwrap()
}

#[test]
fn imported_networks_judge_as_pytorch_does() {
    for (name, sizes, role) in GOLDEN {
        let model = golden(name, sizes, role);
        let bytes = std::fs::read(file(&format!("{name}.expected.safetensors"))).unwrap();
        let expected = SafeTensors::deserialize(&bytes).unwrap();
        let boards = expected.tensor("boards").unwrap();
        let boards: Vec<Board> =
            boards.data().as_chunks().0.iter().map(|cells| Board::from_exponents(*cells)).collect();
        let outputs = expected.tensor("outputs").unwrap();
        let outputs: Vec<f32> = outputs.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let mut compiled = vec![f32::NAN; outputs.len()];
        Compiled::new(&model, false).judge_boards(boards.iter(), &mut compiled);
        let plain: Vec<f32> = boards.iter().flat_map(|board| plain::outputs(&model, board)).collect();
        for (found, expected) in compiled.iter().chain(&plain).zip(outputs.iter().cycle()) {
            assert!((found - expected).abs() < 1e-4 * expected.abs().max(1.0), "{name}: {found} is not {expected}");
        }
    }
}

#[test]
fn files_of_other_networks_are_refused() {
    let none = BTreeMap::new();
    for (name, sizes, role) in GOLDEN {
        let path = file(&format!("{name}.safetensors"));
        for (other, other_sizes, _) in GOLDEN {
            let taken = import(&path, Row::named(other).unwrap(), other_sizes, (role, 1.0), &none);
            assert_eq!(taken.is_ok(), other == name, "{name} as {other}");
        }
        let row = Row::named(name).unwrap();
        assert!(import(&path, row, "", (role, 1.0), &none).is_err());
        assert!(import(&file(&format!("{name}.expected.safetensors")), row, sizes, (role, 1.0), &none).is_err());
        assert!(import(&file(&format!("{name}.onnx")), row, sizes, (role, 1.0), &none).is_err());
    }
}

#[test]
fn what_is_exported_is_what_onnxruntime_was_checked_with() {
    for (name, sizes, role) in GOLDEN {
        let golden_bytes = std::fs::read(file(&format!("{name}.onnx"))).unwrap();
        assert!(export_onnx(&golden(name, sizes, role)) == golden_bytes, "{name}: run the script again");
    }
}

#[test]
#[ignore = "writes the golden files that the script checks"]
fn write_onnx() {
    for (name, sizes, role) in GOLDEN {
        std::fs::write(file(&format!("{name}.onnx")), export_onnx(&golden(name, sizes, role))).unwrap();
    }
}
