//! A league in one file: the records that `league verify` reads, as a compressed tar archive. It holds
//! no secrets and no logs.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Component, Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use league_protocol::id::LeagueId;
use thiserror::Error;

use super::documents::StandingsRepository;
use super::root::Root;

/// The size of a block of an archive.
const BLOCK: usize = 512;
/// The most files of an archive.
const MAX_FILES: usize = 200_000;
/// The most bytes of all files of an archive.
const MAX_BYTES: u64 = 16 << 30;
/// The longest name that one field of a header holds, and the longest folder before it.
const MAX_NAME: usize = 100;
const MAX_PREFIX: usize = 155;

/// Why an archive cannot be written or read.
#[derive(Debug, Error)]
pub(crate) enum ArchiveError {
    #[error("`{}` cannot be read or written", .0.display())]
    File(PathBuf, #[source] io::Error),
    #[error("the file is not an archive of a league: {0}")]
    Form(&'static str),
    #[error("the path `{0}` is too long for an archive")]
    LongPath(String),
}

impl ArchiveError {
    /// Whether the file to write exists.
    pub(crate) fn is_in_the_way(&self) -> bool {
        matches!(self, Self::File(_, error) if error.kind() == io::ErrorKind::AlreadyExists)
    }
}

/// Writes the records of a league to a file, an existing one only by `force`; gives how many files
/// it holds.
pub(crate) fn write(
    root: &Root,
    league: &LeagueId,
    file: &Path,
    force: bool,
) -> Result<usize, ArchiveError> {
    let failed = |error| ArchiveError::File(file.to_owned(), error);
    let opened = if force {
        File::create(file)
    } else {
        File::create_new(file)
    };
    let out = BufWriter::new(opened.map_err(failed)?);
    let mut out = GzEncoder::new(out, Compression::default());
    let mut names = Vec::new();
    for folder in [root.league_folder(league), root.matches_folder(league)] {
        list(&folder, &mut names)?;
    }
    let table = StandingsRepository::new(root, league.clone()).load();
    let players = table.map_or_else(|_| Vec::new(), |table| table.standings);
    let histories = players.iter().map(|row| root.history(&row.player_id));
    names.extend([root.league(league)].into_iter().chain(histories));
    names.retain(|name| name.is_file());
    names.sort();
    names.dedup();
    for name in &names {
        add(root, name, &mut out)?;
    }
    out.write_all(&[0; 2 * BLOCK]).map_err(failed)?;
    let out = out.finish().and_then(|mut out| out.flush());
    out.map_err(failed)?;
    Ok(names.len())
}

/// All files below a folder, which need not exist.
fn list(folder: &Path, names: &mut Vec<PathBuf>) -> Result<(), ArchiveError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(ArchiveError::File(folder.to_owned(), error)),
    };
    for entry in entries {
        let entry = entry.map_err(|error| ArchiveError::File(folder.to_owned(), error))?;
        let path = entry.path();
        let kind = entry
            .file_type()
            .map_err(|error| ArchiveError::File(path.clone(), error))?;
        if kind.is_dir() {
            list(&path, names)?;
        } else if kind.is_file() {
            names.push(path);
        }
    }
    Ok(())
}

/// Adds a file. One that grows meanwhile is cut where it was, as a reader of a running league sees
/// it.
fn add(root: &Root, path: &Path, out: &mut impl Write) -> Result<(), ArchiveError> {
    let failed = |error| ArchiveError::File(path.to_owned(), error);
    let name = path.strip_prefix(root.as_path()).unwrap_or(path);
    let parts = name
        .components()
        .map(|part| part.as_os_str().to_string_lossy());
    let name = parts.collect::<Vec<_>>().join("/");
    let mut content = Vec::new();
    File::open(path)
        .and_then(|mut file| file.read_to_end(&mut content))
        .map_err(failed)?;
    out.write_all(&header(&name, content.len())?)
        .and_then(|()| out.write_all(&content))
        .and_then(|()| out.write_all(&vec![0; padding(content.len())]))
        .map_err(failed)
}

fn padding(length: usize) -> usize {
    length.next_multiple_of(BLOCK) - length
}

/// The header of a file in an archive (POSIX ustar).
fn header(name: &str, length: usize) -> Result<[u8; BLOCK], ArchiveError> {
    let long = || ArchiveError::LongPath(name.to_owned());
    let (prefix, own) = if name.len() <= MAX_NAME {
        ("", name)
    } else {
        let mut splits = name
            .match_indices('/')
            .map(|(place, _)| name.split_at(place));
        let fits =
            |(prefix, own): &(&str, &str)| prefix.len() <= MAX_PREFIX && own.len() <= MAX_NAME + 1;
        let (prefix, own) = splits.find(fits).ok_or_else(long)?;
        (prefix, &own[1..])
    };
    let mut block = [0; BLOCK];
    let mut put = |place: usize, text: &str| {
        block[place..place + text.len()].copy_from_slice(text.as_bytes());
    };
    put(0, own);
    put(100, "0000644\0");
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(124, &format!("{length:011o}\0"));
    put(136, "00000000000\0");
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\u{0}00");
    put(345, prefix);
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(block)
}

/// Unpacks an archive into a folder that exists.
pub(crate) fn unpack(file: &Path, into: &Path) -> Result<(), ArchiveError> {
    let failed = |error| ArchiveError::File(file.to_owned(), error);
    let input = BufReader::new(File::open(file).map_err(failed)?);
    let mut input = GzDecoder::new(input);
    let mut left = MAX_BYTES;
    let mut block = [0; BLOCK];
    for _ in 0..MAX_FILES {
        input.read_exact(&mut block).map_err(|_| cut())?;
        if block == [0; BLOCK] {
            return Ok(());
        }
        let (name, length) = read_header(&block)?;
        left = left
            .checked_sub(length)
            .ok_or(ArchiveError::Form("it is too large"))?;
        let path = into.join(&name);
        let own = |error| ArchiveError::File(path.clone(), error);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(own)?;
        }
        let mut content = (&mut input).take(length);
        let mut out = BufWriter::new(File::create_new(&path).map_err(own)?);
        let copied = io::copy(&mut content, &mut out).map_err(own)?;
        out.flush().map_err(own)?;
        if copied != length {
            return Err(cut());
        }
        let rest = length.next_multiple_of(BLOCK as u64) - length;
        io::copy(&mut (&mut input).take(rest), &mut io::sink()).map_err(failed)?;
    }
    Err(ArchiveError::Form("it has too many files"))
}

const fn cut() -> ArchiveError {
    ArchiveError::Form("it is cut off, or not a compressed archive")
}

/// The name and the length of a file; only plain files at paths below the folder are taken.
fn read_header(block: &[u8; BLOCK]) -> Result<(PathBuf, u64), ArchiveError> {
    const BAD: ArchiveError = ArchiveError::Form("a header in it is wrong");
    let text = |from: usize, length: usize| {
        let field = &block[from..from + length];
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(length);
        std::str::from_utf8(&field[..end]).ok()
    };
    let octal = |from, length| u64::from_str_radix(text(from, length)?.trim(), 8).ok();
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    let own: u64 = block[148..156].iter().map(|byte| u64::from(*byte)).sum();
    let is_whole = octal(148, 8) == Some(sum - own + 8 * u64::from(b' '));
    let (Some(name), Some(prefix), Some(length)) = (text(0, 100), text(345, 155), octal(124, 12))
    else {
        return Err(BAD);
    };
    let path = Path::new(prefix).join(name);
    let is_below = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let is_plain = block[156] == b'0' && !name.is_empty();
    if is_whole && is_below && is_plain {
        Ok((path, length))
    } else {
        Err(BAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_brings_back_what_it_took() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = Root::new(from.path());
        let league = LeagueId::new("one").unwrap();
        let journal = root.league_journal(&league);
        fs::create_dir_all(journal.parent().unwrap()).unwrap();
        fs::write(&journal, vec![b'x'; 1_300]).unwrap();
        fs::create_dir_all(root.secrets_folder(&league)).unwrap();
        fs::write(root.secrets_folder(&league).join("manager.json"), "secret").unwrap();
        let file = from.path().join("one.tar.gz");
        assert_eq!(write(&root, &league, &file, false).unwrap(), 1);
        let refused = write(&root, &league, &file, false).unwrap_err();
        assert!(refused.is_in_the_way(), "{refused}");
        assert_eq!(write(&root, &league, &file, true).unwrap(), 1);
        unpack(&file, to.path()).unwrap();
        let copy = Root::new(to.path());
        assert_eq!(
            fs::read(copy.league_journal(&league)).unwrap(),
            vec![b'x'; 1_300]
        );
        assert!(!copy.secrets_folder(&league).exists());
    }

    #[test]
    fn hostile_archives_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bad.tar.gz");
        for name in ["../evil", "/etc/evil", "a/../../evil", ""] {
            let mut out = GzEncoder::new(File::create(&file).unwrap(), Compression::fast());
            out.write_all(&header(name, 0).unwrap()).unwrap();
            out.write_all(&[0; 2 * BLOCK]).unwrap();
            out.finish().unwrap();
            let into = tempfile::tempdir().unwrap();
            assert!(unpack(&file, into.path()).is_err(), "{name}");
        }
        fs::write(&file, "not an archive").unwrap();
        assert!(unpack(&file, folder.path()).is_err());
    }

    #[test]
    fn long_names_are_split() {
        let folder = "f".repeat(90);
        let name = format!("data/leagues/{folder}/referees/REF01/journal.jsonl");
        let block = header(&name, 5).unwrap();
        assert_eq!(read_header(&block).unwrap(), (PathBuf::from(&name), 5));
        assert!(header(&"x".repeat(300), 0).is_err());
    }
}
