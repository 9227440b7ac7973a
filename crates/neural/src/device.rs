//! Where gradients are computed: on the processor, or on a graphics card if the program was built for one.

use afterstate_evaluator::{Kind, Parameter};
use burn::tensor::Device;

const CPU: &str = "cpu";
const GPU: &str = "gpu";

/// The parameter `device` of all networks that are trained here.
pub const PARAMETER: Parameter = Parameter {
    name: "device",
    summary: "where gradients are computed",
    kind: Kind::Choice { default: CPU, options: &[CPU, GPU] },
};

/// The device of that name, ready to train on; why not, if it cannot be.
pub fn named(name: &str) -> Result<Device, String> {
    let device = if name == GPU { gpu()? } else { Device::flex() };
    Ok(device.autodiff())
}

#[cfg(feature = "gpu")]
fn gpu() -> Result<Device, String> {
    use std::sync::OnceLock;
    static READY: OnceLock<Result<Device, String>> = OnceLock::new();
    let begin = || {
        let found = std::panic::catch_unwind(|| Device::wgpu_options().init());
        match found {
            Ok(Ok(device)) => Ok(device),
            Ok(Err(error)) => Err(format!("device=cpu, since no graphics card could be used: {error}")),
            Err(_) => Err("device=cpu, since no graphics card with a driver was found".into()),
        }
    };
    READY.get_or_init(begin).clone()
}

#[cfg(not(feature = "gpu"))]
fn gpu() -> Result<Device, String> {
    Err("device=cpu, or a program that was built for graphics cards: cargo run --release --features gpu".into())
}
