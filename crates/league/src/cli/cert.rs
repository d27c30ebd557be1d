//! `league cert`: a certificate authority for a class, and certificates for its machines.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use league_protocol::time::Timestamp;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use serde_json::json;

use crate::cli::arguments::{number, quoted};
use crate::cli::failure::CommandError;
use crate::cli::network::host;
use crate::cli::text::print_object;
use crate::cli::{Exit, Output};
use crate::clock;
use crate::http::tls::{Trust, is_certifiable, open_key};
use crate::storage::files;
use crate::storage::secrets::write_private;

const WHAT: &str = "could not make the certificates";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long an authority is valid, in days: ten years.
const AUTHORITY_DAYS: u32 = 3_652;
/// The longest validity that all platforms accept, in days.
const MAX_DAYS: u64 = 825;
/// The longest common name, in bytes.
const MAX_COMMON_NAME: usize = 64;

/// Make a certificate authority for a class, and a certificate for each machine
///
/// The authority is made once, and signs the certificates of later calls too. Every certificate is
/// valid for localhost as well.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league cert 192.168.1.10                 certs/192.168.1.10.pem and certs/192.168.1.10.key
  league cert 192.168.1.10,lab-pc.local    one machine that has an address and a name
  league cert 192.168.1.20 192.168.1.21    two machines
  league cert 192.168.1.10 --force         a new one, such as after the old one has expired

Then serve HTTPS, and let others trust the authority:
  league manager --bind 0.0.0.0 --tls-cert certs/192.168.1.10.pem \\
    --tls-key certs/192.168.1.10.key --ca certs/ca.pem
  league player --manager https://192.168.1.10:8000/mcp --ca certs/ca.pem --bind 0.0.0.0")]
pub(crate) struct CertArgs {
    /// Address or name of a machine, or several of one machine with commas; a certificate for each
    #[arg(required = true, value_name = "HOST", value_parser = Machine::parse)]
    machines: Vec<Machine>,
    /// Folder of the certificates
    #[arg(long, value_name = "DIR", default_value = "certs")]
    dir: PathBuf,
    /// How many days the certificates are valid
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = number::<u32>(1..=MAX_DAYS))]
    days: u32,
    /// Replace existing certificates and keys of these machines; the authority stays
    #[arg(long)]
    force: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    output: Output,
    /// Print nothing
    #[arg(short, long)]
    quiet: bool,
}

/// The hosts of one machine; the first names its files.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Machine(Vec<String>);

impl Machine {
    fn parse(text: &str) -> Result<Self, String> {
        let hosts: Vec<String> = text.split(',').map(host).collect::<Result<_, _>>()?;
        if let Some(wrong) = hosts.iter().find(|host| !is_certifiable(host)) {
            return Err(format!("a certificate cannot be for `{wrong}`"));
        }
        if hosts[0] == AUTHORITY {
            return Err(format!(
                "`{AUTHORITY}` names the files of the authority; give another first"
            ));
        }
        Ok(Self(hosts))
    }

    fn file(&self, dir: &Path, ending: &str) -> PathBuf {
        file(dir, &self.0[0], ending)
    }

    /// All that its certificate is valid for.
    fn names(&self) -> Vec<String> {
        let mut names = self.0.clone();
        for own in ["localhost", "127.0.0.1", "::1"] {
            if !names.iter().any(|name| name == own) {
                names.push(own.to_owned());
            }
        }
        names
    }
}

/// The name of the files of the authority.
const AUTHORITY: &str = "ca";

fn file(dir: &Path, name: &str, ending: &str) -> PathBuf {
    dir.join(format!("{name}.{ending}"))
}

impl CertArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let files = self
            .machines
            .iter()
            .flat_map(|machine| ["pem", "key"].map(|ending| machine.file(&self.dir, ending)));
        if let Some(path) = files.filter(|_| !self.force).find(|path| path.exists()) {
            return Err(CommandError::usage(
                WHAT,
                format!("`{}` exists already", path.display()),
                "replace it with `--force`, or name another folder with `--dir`",
            ));
        }
        let authority = Authority::open(&self.dir)?;
        self.print_authority(&authority, out)?;
        for machine in &self.machines {
            let until = self.make(&authority, machine)?;
            self.print_certificate(machine, until, out)?;
        }
        if self.output == Output::Text && !self.quiet {
            self.print_use(out)?;
        }
        Ok(Exit::Yes)
    }

    /// Makes the key and the certificate of a machine; returns when the certificate ends.
    fn make(&self, authority: &Authority, machine: &Machine) -> Result<Timestamp, CommandError> {
        let key = KeyPair::generate().map_err(|error| failed(&error))?;
        let until = clock::wall() + DAY * self.days;
        let made = authority.sign(machine, &key, until)?;
        let (key_file, file) = (
            machine.file(&self.dir, "key"),
            machine.file(&self.dir, "pem"),
        );
        write_private(&key_file, key.serialize_pem().as_bytes())
            .and_then(|()| files::replace(&file, made.pem().as_bytes()))
            .map_err(|error| unwritten(&self.dir, &error))?;
        Ok(until)
    }

    fn print_authority(&self, authority: &Authority, out: &mut impl Write) -> io::Result<()> {
        let (ca, key) = (self.shown(AUTHORITY, "pem"), self.shown(AUTHORITY, "key"));
        if self.output == Output::Json {
            let object =
                json!({"event": "authority", "ca": ca, "key": key, "new": authority.is_new});
            return print_object(out, &object);
        }
        if authority.is_new && !self.quiet {
            writeln!(out, "made the authority {ca}: give this file to everyone")?;
            writeln!(out, "its key is {key}: keep it secret")?;
        }
        let warning = open_key(&file(&self.dir, AUTHORITY, "key"));
        if let Some(warning) = warning.filter(|_| !self.quiet) {
            writeln!(out, "warning: {warning}")?;
        }
        Ok(())
    }

    fn print_certificate(
        &self,
        machine: &Machine,
        until: Timestamp,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let name = &machine.0[0];
        let (cert, key) = (self.shown(name, "pem"), self.shown(name, "key"));
        let names = machine.names();
        if self.output == Output::Json {
            let until = until.to_seconds_text();
            return print_object(
                out,
                &json!({
                    "event": "certificate", "hosts": names, "tls_cert": cert, "tls_key": key,
                    "ca": self.shown(AUTHORITY, "pem"), "not_after": until,
                }),
            );
        }
        if self.quiet {
            return Ok(());
        }
        let (year, month, day) = date(until);
        let hosts = names.join(", ");
        writeln!(
            out,
            "made {cert} and {key}, until {year}-{month:02}-{day:02}, for {hosts}"
        )
    }

    /// Prints how to use the first certificate.
    fn print_use(&self, out: &mut impl Write) -> io::Result<()> {
        let name = &self.machines[0].0[0];
        let path = |name: &str, ending: &str| quoted(&self.shown(name, ending));
        let (cert, key) = (path(name, "pem"), path(name, "key"));
        let ca = path(AUTHORITY, "pem");
        writeln!(out, "start an agent on {name} with the flags:")?;
        writeln!(out, "  --tls-cert {cert} --tls-key {key} --ca {ca}")?;
        writeln!(
            out,
            "others trust it with a copy of {ca} and the flag `--ca`"
        )
    }

    fn shown(&self, name: &str, ending: &str) -> String {
        file(&self.dir, name, ending).display().to_string()
    }
}

/// What signs the certificates of a class.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Trusts the authority, to check what it signs.
    trust: Trust,
    ca: PathBuf,
    is_new: bool,
}

impl Authority {
    /// Opens the authority of a folder, or makes it.
    fn open(dir: &Path) -> Result<Self, CommandError> {
        let (ca, key_file) = (file(dir, AUTHORITY, "pem"), file(dir, AUTHORITY, "key"));
        let is_new = !key_file.exists();
        if is_new && ca.exists() {
            return Err(CommandError::usage(
                WHAT,
                format!(
                    "`{}` is there, but not its key `{}`",
                    ca.display(),
                    key_file.display()
                ),
                "run this where the key is, or make another authority with `--dir`",
            ));
        }
        let key = if is_new {
            KeyPair::generate().map_err(|error| failed(&error))?
        } else {
            read_key(&key_file)?
        };
        let params = Self::params(&key);
        if is_new || !ca.exists() {
            let made = params.self_signed(&key).map_err(|error| failed(&error))?;
            write_private(&key_file, key.serialize_pem().as_bytes())
                .and_then(|()| files::replace(&ca, made.pem().as_bytes()))
                .map_err(|error| unwritten(dir, &error))?;
        }
        let trust = Trust::load(Some(&ca))
            .map_err(|error| CommandError::usage(WHAT, error.to_string(), OTHER_AUTHORITY))?;
        Ok(Self {
            issuer: Issuer::new(params, key),
            trust,
            ca,
            is_new,
        })
    }

    /// The certificate of the authority. Its name follows from its key, so that the key alone is
    /// enough to sign.
    fn params(key: &KeyPair) -> CertificateParams {
        let mut params = CertificateParams::default();
        let id = params.key_identifier(key);
        let number = u32::from_be_bytes(id.first_chunk().copied().unwrap_or_default());
        params.distinguished_name = named(&format!("League CA {number:08x}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        valid_until(&mut params, clock::wall() + DAY * AUTHORITY_DAYS);
        params
    }

    /// Signs the key of a machine, and checks the certificate as a client would.
    fn sign(
        &self,
        machine: &Machine,
        key: &KeyPair,
        until: Timestamp,
    ) -> Result<Certificate, CommandError> {
        let names = machine.names();
        let mut params = CertificateParams::new(names.clone()).map_err(|error| failed(&error))?;
        params.distinguished_name = named(&machine.0[0]);
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        valid_until(&mut params, until);
        let made = params
            .signed_by(key, &self.issuer)
            .map_err(|error| failed(&error))?;
        for name in &names {
            let checked = self.trust.check(&[made.der().clone()], name);
            checked.map_err(|wrong| {
                let cause = format!(
                    "`{}` does not verify what it signs: {wrong}",
                    self.ca.display()
                );
                CommandError::usage(WHAT, cause, OTHER_AUTHORITY)
            })?;
        }
        Ok(made)
    }
}

const OTHER_AUTHORITY: &str = "restore the `ca.pem` and `ca.key` that belong together, or make another authority with `--dir`";

fn read_key(path: &Path) -> Result<KeyPair, CommandError> {
    let text = fs::read_to_string(path).map_err(|error| {
        let cause = format!("`{}`: {error}", path.display());
        CommandError::world(WHAT, cause, "run this as the owner of the key")
    })?;
    KeyPair::from_pem(&text).map_err(|error| {
        let cause = format!(
            "`{}` is not a key of `league cert`: {error}",
            path.display()
        );
        CommandError::usage(WHAT, cause, OTHER_AUTHORITY)
    })
}

fn named(name: &str) -> DistinguishedName {
    let mut named = DistinguishedName::new();
    let short = name.get(..MAX_COMMON_NAME).unwrap_or(name);
    named.push(DnType::CommonName, short);
    named
}

/// Makes a certificate valid from yesterday, because clocks differ, to the end of a day.
fn valid_until(params: &mut CertificateParams, until: Timestamp) {
    let (year, month, day) = date(clock::wall() - DAY);
    params.not_before = date_time_ymd(year, month, day);
    let (year, month, day) = date(until + DAY);
    params.not_after = date_time_ymd(year, month, day);
}

/// The day of a moment: year, month, day.
fn date(at: Timestamp) -> (i32, u8, u8) {
    let text = at.to_seconds_text();
    let mut parts = text.split(['-', 'T']);
    let mut next = || parts.next().and_then(|part| part.parse::<u16>().ok());
    let (year, month, day) = (next(), next(), next());
    let small = |part: Option<u16>| part.and_then(|part| u8::try_from(part).ok()).unwrap_or(1);
    (year.unwrap_or(1970).into(), small(month), small(day))
}

fn failed(error: &rcgen::Error) -> CommandError {
    CommandError::world(WHAT, error.to_string(), "try again, or give another host")
}

fn unwritten(dir: &Path, error: &io::Error) -> CommandError {
    let cause = format!("`{}`: {error}", dir.display());
    CommandError::world(
        WHAT,
        cause,
        "name a folder with write permission with `--dir`",
    )
}
