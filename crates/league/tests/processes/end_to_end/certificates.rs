//! An authority, and certificates for agents.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};

use crate::end_to_end::ground::Ground;

/// Writes an authority, `ca.pem`, and a certificate with its key for each of these hosts.
pub(crate) fn make(ground: &Ground, hosts: &[&str]) {
    let dir = ground.path("certs");
    fs::create_dir_all(&dir).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // No two authorities have one name.
    let name = ground.root();
    params.distinguished_name.push(DnType::CommonName, name);
    let own = params.self_signed(&key).unwrap();
    fs::write(dir.join("ca.pem"), own.pem()).unwrap();
    let issuer = Issuer::new(params, key);
    for host in hosts {
        let names = [host, "localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(names).unwrap();
        let made = params.signed_by(&key, &issuer).unwrap();
        fs::write(dir.join(format!("{host}.pem")), made.pem()).unwrap();
        write_key(&dir.join(format!("{host}.key")), &key.serialize_pem());
    }
}

fn write_key(path: &Path, key: &str) {
    fs::write(path, key).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

/// Lets the agents of a root serve TLS with these files.
pub(crate) fn serve_with(ground: &Ground, cert: &str, key: &str) {
    let path = ground.path("config/system.json");
    let system = fs::read(path).unwrap_or_else(|_| b"{}".to_vec());
    let mut system: Value = serde_json::from_slice(&system).unwrap();
    system["security"]["tls_cert"] = json!(cert);
    system["security"]["tls_key"] = json!(key);
    ground.write("config/system.json", &system);
}
