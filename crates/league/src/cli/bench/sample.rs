//! What one pass of one variant gave.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::cli::bench::figures::Quantiles;

/// The figures of one window.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Sample {
    pub(crate) matches: u64,
    /// Matches since the start, those of the warm-up too.
    pub(crate) all_matches: u64,
    #[serde(serialize_with = "seconds")]
    pub(crate) elapsed: Duration,
    /// User and system time of all processes, within the window.
    #[serde(serialize_with = "seconds")]
    pub(crate) cpu: Duration,
    /// The same from the first start to the last end.
    #[serde(serialize_with = "seconds")]
    pub(crate) whole_cpu: Duration,
    /// Durations of the matches.
    pub(crate) micros: Quantiles,
    /// The most memory that each process held, summed, in bytes.
    pub(crate) memory: u64,
    /// What a league left on the disk.
    pub(crate) disk: Option<DiskUse>,
}

impl Sample {
    /// Microseconds of CPU time for a match.
    pub(crate) fn cpu_per_match(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.matches as f64
    }

    /// Matches a second.
    pub(crate) fn rate(&self) -> f64 {
        self.matches as f64 / self.elapsed.as_secs_f64()
    }
}

/// Bytes on the disk for each match of a league.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct DiskUse {
    /// Journals, and the files made from them.
    pub(crate) data: f64,
    pub(crate) logs: f64,
}

impl DiskUse {
    /// Of a league of so many matches below a root.
    pub(crate) fn below(root: &Path, matches: u64) -> io::Result<Self> {
        let per_match = |folder: &str| {
            let size = size_of(&root.join(folder))?;
            io::Result::Ok(size as f64 / matches as f64)
        };
        Ok(Self {
            data: per_match("data")?,
            logs: per_match("logs")?,
        })
    }
}

/// The length of all files below a folder.
fn size_of(folder: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        sum += match entry.file_type()?.is_dir() {
            true => size_of(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(sum)
}

fn seconds<S: serde::Serializer>(time: &Duration, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_f64(time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_for_a_match() {
        let sample = Sample {
            matches: 200,
            elapsed: Duration::from_millis(500),
            cpu: Duration::from_millis(100),
            ..Sample::default()
        };
        assert!((sample.cpu_per_match() - 500.0).abs() < 1e-9);
        assert!((sample.rate() - 400.0).abs() < 1e-9);
    }

    #[test]
    fn logs_are_counted_apart_from_data() {
        let root = tempfile::tempdir().unwrap();
        for (file, size) in [
            ("data/a/b", 300),
            ("data/c", 100),
            ("logs/d", 50),
            ("config", 7),
        ] {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, vec![0; size]).unwrap();
        }
        let disk = DiskUse::below(root.path(), 10).unwrap();
        assert_eq!((disk.data, disk.logs), (40.0, 5.0));
    }
}
