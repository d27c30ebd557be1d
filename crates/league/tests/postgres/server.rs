//! A PostgreSQL server of the distribution's packages, in a folder of its own. `cargo xtask postgres`
//! starts one for all tests; tests that kill servers start theirs.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a server may take to start or to stop.
const PATIENCE: Duration = Duration::from_secs(90);
/// How often it is looked whether it has.
const LOOK: Duration = Duration::from_millis(20);
/// The users that a server runs as when we are root, as which it refuses to run.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// A server; it is stopped and removed when it is dropped.
pub(crate) struct Server {
    bin: PathBuf,
    /// Whom it runs as, if not as we do.
    user: Option<(u32, u32)>,
    folder: PathBuf,
    pub(crate) port: u16,
    postmaster: Option<Child>,
}

impl Server {
    /// Makes a server with the programs of this folder, and starts it.
    pub(crate) fn start(bin: &Path) -> io::Result<Self> {
        let mut server = Self::place(bin)?;
        let initdb = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"];
        server.run(
            "initdb",
            &[&initdb[..], &["--no-sync", "-D", "data"]].concat(),
        )?;
        server.resume()?;
        Ok(server)
    }

    /// Makes a standby that follows this server, which waits for it at each commit from now on.
    pub(crate) fn synchronous_standby(&self) -> io::Result<Self> {
        let mut standby = Self::place(&self.bin)?;
        let primary = format!("host=127.0.0.1 port={} user=postgres", self.port);
        let copy = [
            "-D",
            "data",
            "-R",
            "-X",
            "stream",
            "-c",
            "fast",
            "--no-sync",
        ];
        standby.run("pg_basebackup", &[&copy[..], &["-d", &primary]].concat())?;
        standby.resume()?;
        self.ask("alter system set synchronous_standby_names = '*'")?;
        self.ask("select pg_reload_conf()")?;
        let followed = "select count(*) from pg_stat_replication where sync_state = 'sync'";
        wait("the standby does not follow", || {
            Ok(self.ask(followed)? == "1")
        })?;
        Ok(standby)
    }

    /// An empty folder for a server, and a port.
    fn place(bin: &Path) -> io::Result<Self> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let name = format!("league-postgres-{}-{port}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder)?;
        fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        let user = user()?;
        if let Some((user, group)) = user {
            chown(&folder, Some(user), Some(group))?;
        }
        Ok(Self {
            bin: bin.to_owned(),
            user,
            folder,
            port,
            postmaster: None,
        })
    }

    /// A folder that the server may write, below its own.
    pub(crate) fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.folder.join(name);
        fs::create_dir(&folder)?;
        self.own(&folder)?;
        Ok(folder)
    }

    /// Hands a folder over to the user of the server.
    pub(crate) fn own(&self, folder: &Path) -> io::Result<()> {
        match self.user {
            Some((user, group)) => chown(folder, Some(user), Some(group)),
            None => Ok(()),
        }
    }

    /// Its address with a database.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// The number of its first process.
    pub(crate) fn pid(&self) -> u32 {
        self.postmaster.as_ref().map_or(0, Child::id)
    }

    /// Starts it, at first or again, and waits until it answers.
    pub(crate) fn resume(&mut self) -> io::Result<()> {
        let port = self.port.to_string();
        let place = ["-h", "127.0.0.1", "-p", &port, "-q"];
        let mut ready = self.command("pg_isready");
        ready.args(place);
        wait("the server does not start", || {
            let ended = match &mut self.postmaster {
                Some(postmaster) => postmaster.try_wait()?.is_some(),
                None => true,
            };
            // What is left of one that was killed may be in its way for a moment.
            if ended {
                self.postmaster = Some(self.spawn()?);
            }
            Ok(ready.output()?.status.success())
        })
        .map_err(|error| io::Error::other(format!("{error}\n{}", self.log())))
    }

    fn spawn(&self) -> io::Result<Child> {
        let mut command = self.command("postgres");
        command.args(["-D", "data", "-p", &self.port.to_string()]);
        for setting in [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "max_connections=200",
            "shared_buffers=16MB",
        ] {
            command.args(["-c", setting]);
        }
        let mut log = OpenOptions::new();
        let log = log.create(true).append(true);
        let log = log.open(self.folder.join("log"))?;
        command.stdout(log.try_clone()?).stderr(log).spawn()
    }

    /// What it logged.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Kills it and all its processes at once.
    pub(crate) fn kill(&mut self) -> io::Result<()> {
        self.signal("-KILL")?;
        let Some(mut postmaster) = self.postmaster.take() else {
            return Ok(());
        };
        // Without the other program it is killed too.
        postmaster.kill()?;
        postmaster.wait().map(drop)
    }

    /// Stops it and all its processes, or lets them go on, by a signal.
    pub(crate) fn signal(&self, signal: &str) -> io::Result<()> {
        let Some(postmaster) = &self.postmaster else {
            return Ok(());
        };
        let process = postmaster.id().to_string();
        let children = format!("/proc/{process}/task/{process}/children");
        let children = fs::read_to_string(children).unwrap_or_default();
        let all = children.split_whitespace().chain([process.as_str()]);
        let mut kill = Command::new("kill");
        kill.arg(signal).args(all).stderr(Stdio::null());
        kill.status().map(drop)
    }

    /// Lets a standby take writes.
    pub(crate) fn promote(&self) -> io::Result<()> {
        self.run("pg_ctl", &["promote", "-D", "data", "-w", "-t", "60"])
            .map(drop)
    }

    /// Runs a statement in the database `postgres`, and gives what it prints.
    pub(crate) fn ask(&self, statement: &str) -> io::Result<String> {
        ask(&self.bin, &self.url("postgres"), statement)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin.join(program));
        command.current_dir(&self.folder).stdin(Stdio::null());
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) -> io::Result<String> {
        printed(self.command(program).args(arguments))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nobody can do more about what fails here.
        let _ = self.kill();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Runs a statement in a database, and gives what it prints.
pub(crate) fn ask(bin: &Path, url: &str, statement: &str) -> io::Result<String> {
    let options = ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1"];
    let mut psql = Command::new(bin.join("psql"));
    printed(psql.args(options).args(["-d", url, "-c", statement]))
}

/// What a program prints that must succeed.
fn printed(command: &mut Command) -> io::Result<String> {
    let Output {
        status,
        stdout,
        stderr,
    } = command.stdin(Stdio::null()).output()?;
    if !status.success() {
        let said = String::from_utf8_lossy(&stderr);
        return Err(io::Error::other(format!("{command:?}: {status}\n{said}")));
    }
    Ok(String::from_utf8_lossy(&stdout).trim().to_owned())
}

/// Looks until something is so.
fn wait(what: &str, mut look: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    while !look()? {
        if Instant::now() > until {
            return Err(io::Error::other(what.to_owned()));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// The user and the group that a server runs as, if we are root.
fn user() -> io::Result<Option<(u32, u32)>> {
    let id = |arguments: &[&str]| -> io::Result<u32> {
        let told = printed(Command::new("id").args(arguments))?;
        told.parse().map_err(io::Error::other)
    };
    if id(&["-u"])? != 0 {
        return Ok(None);
    }
    let known = USERS.iter().find_map(|user| {
        let numbers = (id(&["-u", user]).ok()?, id(&["-g", user]).ok()?);
        (numbers.0 != 0).then_some(numbers)
    });
    known.map(Some).ok_or_else(|| {
        let users = USERS.join("` nor `");
        io::Error::other(format!(
            "we are root, and there is neither a user `{users}`"
        ))
    })
}
