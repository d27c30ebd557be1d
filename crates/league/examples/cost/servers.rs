//! Servers in processes of their own, and what the system says that each has spent.

use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// How long a server may take to say where it answers.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A server at work; it is killed when it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    child: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts one and waits until it says where it answers.
    ///
    /// # Errors
    ///
    /// The program may be missing, or keep silent.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = child.stdout.take().map(BufReader::new);
        let mut server = Self {
            address: SocketAddr::from(([0, 0, 0, 0], 0)),
            child,
        };
        let silent = || io::Error::other("a server did not say where it answers");
        server.address = output.and_then(told).ok_or_else(silent)?;
        Ok(server)
    }

    /// Lets it end by itself, as it does when its standard input is closed.
    ///
    /// # Errors
    ///
    /// It may be gone already.
    pub(crate) fn end(mut self) -> io::Result<()> {
        drop(self.child.stdin.take());
        self.child.wait().map(drop)
    }

    /// The processor time that it has spent so far, its own and the system's for it, in
    /// nanoseconds.
    ///
    /// This is what `utime` and `stime` of `/proc/PID/stat` count in hundredths of a second.
    ///
    /// # Errors
    ///
    /// Where the system keeps no `/proc`, nobody knows.
    pub(crate) fn spent(&self) -> io::Result<u64> {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.child.id()))?;
        let mut spent = 0;
        for thread in threads {
            let stat = std::fs::read_to_string(thread?.path().join("schedstat"))?;
            let own = stat.split_whitespace().next();
            let own: Option<u64> = own.and_then(|own| own.parse().ok());
            spent += own.ok_or_else(|| io::Error::other("a thread says not what it spent"))?;
        }
        Ok(spent)
    }
}

/// The first address in the output; the rest is read and let go, so that nobody waits to write it.
fn told(output: impl BufRead + Send + 'static) -> Option<SocketAddr> {
    let (tell, told) = channel();
    thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            for address in line.split_whitespace().filter_map(address) {
                let _ = tell.send(address);
            }
        }
    });
    told.recv_timeout(START_TIMEOUT).ok()
}

fn address(word: &str) -> Option<SocketAddr> {
    let (host, _) = word.strip_prefix("http://")?.split_once('/')?;
    host.replace("localhost", "127.0.0.1").parse().ok()
}

/// A manager and a player of its league, on a root that goes with them.
pub(crate) struct Agents {
    pub(crate) player: Server,
    _manager: Server,
    _folder: Folder,
}

impl Agents {
    /// Starts both.
    ///
    /// # Errors
    ///
    /// The program may be missing, or keep silent.
    pub(crate) fn start(league: &Path) -> io::Result<Self> {
        let name = format!("league-cost-{}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&folder.0)?;
        let agent = |kind: &str| {
            let mut command = Command::new(league);
            command.args([kind, "--port", "0", "--root"]).arg(&folder.0);
            command
        };
        let manager = Server::start(&mut agent("manager"))?;
        let at = format!("http://{}/mcp", manager.address);
        let player = Server::start(agent("player").args(["--manager", &at]))?;
        Ok(Self {
            player,
            _manager: manager,
            _folder: folder,
        })
    }
}

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
