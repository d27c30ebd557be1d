//! The disk of the server is full while a league is played.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::field::{Field, Store, own_server};

/// A small disk in memory; only root may mount one, so `cargo xtask postgres` leaves this test out for
/// others, and says so.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn mount() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]);
        assert!(mount.arg(folder.path()).status().unwrap().success());
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Leaves no room on it.
    fn fill(&self) {
        let mut ballast = File::create(self.path().join("ballast")).unwrap();
        while ballast.write_all(&[7; 4096]).is_ok() {}
    }

    fn make_room(&self) {
        fs::remove_file(self.path().join("ballast")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The server that wrote there is gone.
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

#[test]
fn manager_waits_while_the_disk_of_the_server_is_full() {
    let disk = SmallDisk::mount();
    let server = own_server();
    let place = disk.path().join("events");
    fs::create_dir(&place).unwrap();
    server.own(&place).unwrap();
    let store = Store::on(&server);
    let place = place.display();
    store.ask(&format!("create tablespace small location '{place}'"));
    store.ask("alter table league.events set tablespace small");
    store.ask("alter index league.events_pkey set tablespace small");
    let mut field = Field::new(store, 1);
    let mut manager = field.start_in_charge(0);
    field.start_agents();
    field.store.wait_for_results(2);
    disk.fill();
    manager.line(|line| line.contains("DATABASE_AWAY") || line.contains("No space left"));
    let full = field.store.results();
    manager.see_running();
    disk.make_room();
    manager.event("state", "completed");
    println!("the disk was full after {full} results");
    field.see_all_running();
    field.store.wait_for_the_end();
    field.store.see_whole(&field);
}
