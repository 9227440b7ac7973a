//! The best score of each board size, kept from one day to the next.
//! It is a nicety: a file that cannot be read or written never stops a game.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs, io, process};

/// The best score of one kind of game, and where it is kept.
#[derive(Debug)]
pub struct Best {
    path: Option<PathBuf>,
    kind: String,
    score: u64,
    /// Not yet in the file.
    is_new: bool,
}

impl Best {
    /// Reads what is kept for that kind of game, such as `4x4`; without a file the best lasts as long as the program.
    pub fn load(path: Option<PathBuf>, kind: String) -> Self {
        let score = path.as_deref().and_then(|path| read(path).get(&kind).copied()).unwrap_or(0);
        Self { path, kind, score, is_new: false }
    }

    pub const fn score(&self) -> u64 {
        self.score
    }

    /// Takes note of a score.
    pub fn raise(&mut self, score: u64) {
        if score > self.score {
            (self.score, self.is_new) = (score, true);
        }
    }

    /// Writes a new best; tries again next time if that fails. Another program's higher score stays.
    pub fn save(&mut self) -> io::Result<()> {
        let Some(path) = self.path.as_deref().filter(|_| self.is_new) else { return Ok(()) };
        let mut scores = read(path);
        let kept = scores.entry(self.kind.clone()).or_insert(0);
        *kept = self.score.max(*kept);
        self.score = *kept;
        write(path, &scores)?;
        self.is_new = false;
        Ok(())
    }
}

/// A file that is missing or damaged counts as empty.
fn read(path: &Path) -> BTreeMap<String, u64> {
    let bytes = fs::read(path).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Either the old file or the new one is there, whatever happens.
fn write(path: &Path, scores: &BTreeMap<String, u64>) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let draft = path.with_extension(format!("json.{}", process::id()));
    let result = fs::write(&draft, serde_json::to_vec_pretty(scores)?).and_then(|()| fs::rename(&draft, path));
    if result.is_err() {
        let _ = fs::remove_file(&draft);
    }
    result
}

/// The user's file: in `$XDG_DATA_HOME`, `~/.local/share` or `%LOCALAPPDATA%`.
pub fn user_file() -> Option<PathBuf> {
    // Relative paths count as unset: the specification of these variables says so.
    let folder = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = folder("XDG_DATA_HOME")
        .or_else(|| folder("HOME").map(|home| home.join(".local").join("share")))
        .or_else(|| folder("LOCALAPPDATA"))?;
    Some(data.join("afterstate").join("best.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own for each test.
    fn folder(name: &str) -> PathBuf {
        let path = env::temp_dir().join(format!("afterstate-best-{}-{name}", process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    #[test]
    fn sizes_are_kept_apart_and_come_back() {
        let folder = folder("apart");
        let file = folder.join("deep").join("best.json");
        let load = |kind: &str| Best::load(Some(file.clone()), kind.to_owned());
        let mut best = load("4x4");
        best.raise(100);
        best.raise(50);
        best.save().unwrap();
        let mut other = load("3x3");
        assert_eq!(other.score(), 0);
        other.raise(7);
        other.save().unwrap();
        assert_eq!((load("4x4").score(), load("3x3").score()), (100, 7));
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_higher_score_of_another_program_stays() {
        let folder = folder("other");
        let file = folder.join("best.json");
        let mut mine = Best::load(Some(file.clone()), "4x4".to_owned());
        write(&file, &BTreeMap::from([("4x4".to_owned(), 1000)])).unwrap();
        mine.raise(10);
        mine.save().unwrap();
        assert_eq!((mine.score(), read(&file)["4x4"]), (1000, 1000));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn damage_and_missing_rights_are_no_catastrophe() {
        let folder = folder("damage");
        let file = folder.join("best.json");
        fs::create_dir_all(&folder).unwrap();
        fs::write(&file, b"{\"4x4\": -3, oops").unwrap();
        let mut best = Best::load(Some(file.clone()), "4x4".to_owned());
        assert_eq!(best.score(), 0);
        best.raise(5);
        best.save().unwrap();
        assert_eq!(read(&file)["4x4"], 5);
        // A file where a folder should be: nobody can write there, not even root.
        let mut blocked = Best::load(Some(file.join("best.json")), "4x4".to_owned());
        blocked.raise(9);
        assert!(blocked.save().is_err());
        assert_eq!(blocked.score(), 9);
        let mut nowhere = Best::load(None, "4x4".to_owned());
        nowhere.raise(9);
        assert!(nowhere.save().is_ok());
        fs::remove_dir_all(folder).unwrap();
    }
}
