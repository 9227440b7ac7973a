//! Networks that were trained elsewhere: safetensors as PyTorch's tools write them, without our marks. The arrays must have the names and
//! shapes of one of our architectures; prefixes of wrappers are taken off, counters that training leaves behind are left out, and other
//! names can be translated.

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::{Dtype, SafeTensors};

use super::Row;
use super::model::Model;
use crate::file::FileError;
use crate::lookup::Role;

/// What wrappers put before names.
const PREFIXES: [&str; 4] = ["module.", "_orig_mod.", "model.", "network."];
/// What PyTorch's batch norms count and nobody needs.
const COUNTER: &str = "num_batches_tracked";
/// The largest file that is read; the largest network that our architectures allow is smaller.
const MOST_BYTES: u64 = 4 << 30;

/// Reads a network of that architecture and those sizes, `key=value,...`; `renamed` says what a beginning of a name stands for.
pub fn import(
    path: &Path,
    row: &'static Row,
    sizes: &str,
    form: (Role, f32),
    renamed: &BTreeMap<String, String>,
) -> Result<Model, FileError> {
    let io = |source| FileError::Io { path: path.to_owned(), source };
    let refused = |reason: String| FileError::Refused { path: path.to_owned(), reason };
    if std::fs::metadata(path).map_err(io)?.len() > MOST_BYTES {
        return Err(refused("it is too large to be one of these networks".to_owned()));
    }
    let bytes = std::fs::read(path).map_err(io)?;
    let tensors = SafeTensors::deserialize(&bytes)
        .map_err(|error| refused(format!("this is no safetensors file, the only kind that is read ({error})")))?;
    let mut model = Model::named(row, sizes, form, 0).map_err(refused)?;
    let mut taken = vec![false; model.plan().arrays.len()];
    for name in tensors.names() {
        let ours = translated(name, renamed);
        if ours.ends_with(COUNTER) {
            continue;
        }
        let at = model.plan().arrays.iter().position(|array| array.name == ours);
        let at = at.ok_or_else(|| refused(format!("'{name}' is no part of {}:{sizes}", row.name)))?;
        let found = tensors.tensor(name).map_err(|error| refused(error.to_string()))?;
        let shape = &model.plan().arrays[at].shape;
        if found.dtype() != Dtype::F32 || found.shape() != shape {
            let (kind, given) = (found.dtype(), found.shape());
            return Err(refused(format!("'{name}' is {given:?} of type {kind}, not {shape:?} of type F32")));
        }
        let numbers = found.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        model.array_mut(at).iter_mut().zip(numbers).for_each(|(to, number)| *to = number);
        taken[at] = true;
    }
    if let Some(missing) = taken.iter().position(|taken| !taken) {
        return Err(refused(format!("it lacks '{}'", model.plan().arrays[missing].name)));
    }
    if model.arrays_mut().iter().flatten().any(|number| !number.is_finite()) {
        return Err(refused("some of its numbers are none".to_owned()));
    }
    Ok(model)
}

/// Our name of an array.
fn translated(name: &str, renamed: &BTreeMap<String, String>) -> String {
    let mut name = name;
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)) {
        name = rest;
    }
    // The longest beginning that is known counts.
    let known = renamed.iter().filter(|(theirs, _)| name.starts_with(theirs.as_str()));
    match known.max_by_key(|(theirs, _)| theirs.len()) {
        Some((theirs, ours)) => format!("{ours}{}", &name[theirs.len()..]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_translated() {
        let renamed: BTreeMap<String, String> =
            [("conv_in.", "stem.conv."), ("conv", "x")].map(|(a, b)| (a.to_owned(), b.to_owned())).into();
        assert_eq!(translated("module._orig_mod.conv_in.weight", &renamed), "stem.conv.weight");
        assert_eq!(translated("policy.out.bias", &renamed), "policy.out.bias");
    }
}
