//! Parsing of addresses, and which of them may be called.

use super::*;
use crate::config::AllowedEndpoint;

const ANY: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

fn own_addresses(own: &[&str]) -> OwnAddresses {
    OwnAddresses {
        own: own.iter().map(|own| own.parse().unwrap()).collect(),
        agents: Vec::new(),
    }
}

#[test]
fn an_address_is_read_whole() {
    let endpoint = Endpoint::parse("http://localhost:8101/mcp").unwrap();
    assert_eq!(endpoint.address(), "127.0.0.1:8101".parse().ok());
    assert_eq!(&*endpoint.path, "/mcp");
    assert_eq!(endpoint.to_string(), "http://localhost:8101/mcp");
    let bare = Endpoint::parse("mcp://127.0.0.1:9").unwrap();
    assert_eq!(&*bare.path, "/mcp");
    let six = Endpoint::parse("http://[::1]:8101/agents/P01/mcp").unwrap();
    assert_eq!(six.address(), "[::1]:8101".parse().ok());
}

#[test]
fn an_address_with_tls_keeps_its_host_for_the_certificate() {
    for (text, address, host) in [
        ("https://localhost:8101/mcp", "127.0.0.1:8101", "localhost"),
        ("https://127.0.0.1/mcp", "127.0.0.1:443", "127.0.0.1"),
        ("https://[::1]:8101/mcp", "[::1]:8101", "::1"),
    ] {
        let endpoint = Endpoint::parse(text).unwrap();
        assert_eq!(endpoint.scheme, Scheme::Https);
        assert_eq!(endpoint.address(), address.parse().ok(), "{text}");
        assert_eq!(endpoint.host(), host);
        assert_eq!(endpoint.to_string(), text);
    }
    assert_eq!(
        Endpoint::parse("https://example.test/mcp"),
        Err(BadEndpoint::Name("example.test".into()))
    );
}

#[test]
fn a_manager_with_a_name_is_called_at_the_address_that_was_found() {
    let named = "https://board.example:8000/mcp";
    let found = |address: [u8; 4]| {
        let look_up = move |_: &str, port| Ok(at(SocketAddr::new(address.into(), port)));
        Endpoint::read(named, look_up).unwrap()
    };
    let list = AllowList::default();
    assert_eq!(list.check(named).unwrap().address(), None);
    let near = list.clone().knowing(found([127, 0, 0, 2])).check(named);
    let near = near.unwrap();
    assert_eq!(near.address(), "127.0.0.2:8000".parse().ok());
    assert_eq!(near.host(), "board.example");
    let far = list.knowing(found([192, 0, 2, 7])).check(named);
    assert!(matches!(far, Err(BadEndpoint::NotAllowed(_))), "{far:?}");
}

#[test]
fn what_is_no_address_is_refused() {
    for text in [
        "",
        "localhost:8101",
        "ftp://localhost:8101/mcp",
        "https://",
        "http://",
        "http://:80/mcp",
        "http://localhost:99999/mcp",
        "http://user@localhost:1/mcp",
        "http://localhost:1/m cp",
        "http://localhost:1/\u{202e}",
        "http://localhost:+1/mcp",
        "http://localhost:/mcp",
        "https://user@heron.example/mcp",
        "https://b\u{fc}cher.example/mcp",
        "https://-heron.example/mcp",
        "https://heron..example/mcp",
        "https://heron.example:443:443/mcp",
        "https://heron.example\\@10.0.0.1/mcp",
        "https://heron.example?/mcp",
        "http://2130706433/mcp",
        "http://0x7f000001/mcp",
        "http://0177.0.0.1/mcp",
        "http://127.1/mcp",
        "http://[::1/mcp",
    ] {
        for found in [Endpoint::parse(text), AllowList::default().check(text)] {
            assert!(
                matches!(found, Err(BadEndpoint::Malformed(_))),
                "{text}: {found:?}"
            );
        }
    }
    assert_eq!(
        Endpoint::parse("http://example.test/mcp"),
        Err(BadEndpoint::Name("example.test".into()))
    );
    assert_eq!(
        Endpoint::parse(&format!("http://localhost/{}", "x".repeat(300))),
        Err(BadEndpoint::TooLong)
    );
}

#[test]
fn nobody_else_answers_at_our_own_address() {
    for (own, asked, is_own) in [
        ("127.0.0.1:8000", "http://localhost:8000/mcp", true),
        ("127.0.0.1:8000", "mcp://127.0.0.1:8000", true),
        ("127.0.0.1:8000", "http://[::1]:8000/other", true),
        ("0.0.0.0:8000", "http://localhost:8000/mcp", true),
        ("[::]:8000", "http://127.0.0.1:8000/mcp", true),
        ("127.0.0.1:8000", "http://[::ffff:127.0.0.1]:8000/mcp", true),
        ("127.0.0.1:8000", "http://localhost:8001/mcp", false),
    ] {
        let list = AllowList::default().within(&own_addresses(&[own]));
        let found = list.check(asked);
        let refused = matches!(found, Err(BadEndpoint::Own(_)));
        assert_eq!(refused, is_own, "{own} {asked}: {found:?}");
        assert!(AllowList::default().check(asked).is_ok(), "{asked}");
    }
}

#[tokio::test]
async fn agent_of_this_process_is_called_where_the_process_listens_whatever_it_is_named() {
    let named = "http://league.example:8000/leagues/friday/agents/REF01/mcp";
    let listening = "0.0.0.0:8000".parse().unwrap();
    let neighbour = Endpoint::of_neighbour(named, Scheme::Http, listening).unwrap();
    let list = AllowList::default().within(&own_addresses(&["0.0.0.0:8000"]));
    let list = list.beside(vec![(named.to_owned(), neighbour)]);
    let called = list.check(named).unwrap();
    assert_eq!(called.to_string(), named);
    assert_eq!(called.address(), Some(([127, 0, 0, 1], 8000).into()));
    let from = |from: [u8; 4]| Origin::Network {
        from: from.into(),
        at: [127, 0, 0, 1].into(),
    };
    let found = list.find_of(from([127, 0, 0, 1]), named).await;
    assert_eq!(found, Ok(vec![([127, 0, 0, 1], 8000).into()]));
    let stranger = list.find_of(from([192, 0, 2, 7]), named).await;
    assert!(stranger.is_err(), "{stranger:?}");
    let other = list.check("http://127.0.0.1:8000/leagues/friday/agents/REF02/mcp");
    assert!(matches!(other, Err(BadEndpoint::Own(_))), "{other:?}");
}

#[test]
fn whoever_calls_from_elsewhere_is_told_what_to_send_instead_of_localhost() {
    let list = AllowList::default();
    let caller = |from: &str| Origin::Network {
        from: from.parse().unwrap(),
        at: "192.168.1.10".parse().unwrap(),
    };
    for mistaken in [
        "http://localhost:8101/mcp",
        "http://127.0.0.1:8101/mcp",
        "http://0.0.0.0:8101/mcp",
        "http://[::ffff:127.0.0.1]:8101/mcp",
    ] {
        let refused = list.check_of(caller("192.168.1.20"), mistaken);
        let told = refused.unwrap_err().to_string();
        assert!(
            told.contains("send `http://192.168.1.20:8101/mcp`"),
            "{told}"
        );
    }
    let secured = list.check_of(caller("192.168.1.20"), "https://localhost:8101/mcp");
    let told = secured.unwrap_err().to_string();
    assert!(told.contains("`https://192.168.1.20:8101/mcp`"), "{told}");
    let linked = list.check_of(caller("169.254.7.7"), "http://localhost:8101/mcp");
    assert!(matches!(linked, Err(BadEndpoint::Here(_))), "{linked:?}");
    for here in ["127.0.0.1", "192.168.1.10"] {
        let read = list.check_of(caller(here), "http://localhost:8101/mcp");
        assert!(read.is_ok(), "{here}: {read:?}");
    }
    let piped = list.check_of(Origin::Pipe, "http://localhost:8101/mcp");
    assert!(piped.is_ok());
    let elsewhere = list.check_of(caller("192.168.1.20"), "http://192.168.1.20:8101/mcp");
    assert!(matches!(elsewhere, Err(BadEndpoint::NotAllowed(_))));
}

#[test]
fn caller_is_at_an_address_only_on_its_machine() {
    let list = AllowList::default();
    let caller = |from: &str| Origin::Network {
        from: from.parse().unwrap(),
        at: "192.0.2.10".parse().unwrap(),
    };
    for (origin, address, is_at) in [
        (caller("192.0.2.20"), "http://192.0.2.20:8101/mcp", true),
        (
            caller("::ffff:192.0.2.20"),
            "http://192.0.2.20:8101/mcp",
            true,
        ),
        (caller("192.0.2.20"), "http://192.0.2.21:8101/mcp", false),
        (caller("192.0.2.20"), "http://localhost:8101/mcp", false),
        (caller("127.0.0.1"), "http://192.0.2.21:8101/mcp", false),
        (caller("127.0.0.1"), "http://localhost:8101/mcp", true),
        (Origin::Pipe, "http://localhost:8101/mcp", true),
    ] {
        let endpoint = Endpoint::parse(address).unwrap();
        let found = list.is_at(origin, endpoint.address().unwrap());
        assert_eq!(found, is_at, "{origin:?} {address}");
    }
}

#[test]
fn nobody_elsewhere_registers_an_address_of_this_machine() {
    let everywhere = SecurityConfig {
        allowed_endpoints: vec![AllowedEndpoint::network(ANY, 0)],
        ..SecurityConfig::default()
    };
    let list = AllowList::new(everywhere);
    let (from, at) = ("192.0.2.20".parse().unwrap(), "192.0.2.10".parse().unwrap());
    for own in local::addresses().into_iter().filter(IpAddr::is_ipv4) {
        let text = url(Scheme::Http, &own.to_string(), 8101);
        let refused = list.check_of(Origin::Network { from, at }, &text);
        assert!(
            matches!(refused, Err(BadEndpoint::Elsewhere { .. })),
            "{own}"
        );
        let here = Origin::Network { from: own, at };
        assert!(list.check_of(here, &text).is_ok(), "{own}");
    }
}

#[test]
fn nobody_elsewhere_registers_another_port_of_the_address_that_others_are_told() {
    // Behind a router or in a container, no interface has the published address.
    let told: IpAddr = "203.0.113.77".parse().unwrap();
    let list = AllowList::new(SecurityConfig {
        allowed_endpoints: vec![AllowedEndpoint::address(told)],
        ..SecurityConfig::default()
    });
    let list = list.within(&OwnAddresses::new(
        "0.0.0.0:8000".parse().ok(),
        &url(Scheme::Http, "203.0.113.77", 8000),
    ));
    let caller = |from: &str| Origin::Network {
        from: from.parse().unwrap(),
        at: "192.0.2.10".parse().unwrap(),
    };
    for asked in [
        "http://203.0.113.77:22/mcp",
        "http://[::ffff:203.0.113.77]:22/mcp",
    ] {
        let refused = list.check_of(caller("192.0.2.20"), asked);
        assert!(
            matches!(refused, Err(BadEndpoint::Elsewhere { .. })),
            "{asked}: {refused:?}"
        );
        let refused = list.check_of(Origin::Unknown, asked);
        assert!(matches!(refused, Err(BadEndpoint::Here(_))), "{refused:?}");
    }
    let here = list.check_of(caller("127.0.0.1"), "http://203.0.113.77:8101/mcp");
    assert!(here.is_ok(), "{here:?}");
}

#[test]
fn where_a_proxy_leads_here_nobody_is_known_to_be_here_but_whom_the_organiser_named() {
    let local = Origin::Network {
        from: Ipv4Addr::LOCALHOST.into(),
        at: Ipv4Addr::LOCALHOST.into(),
    };
    let asked = |bind: &str, host: &str, asked: &str| {
        let mut system = SystemConfig::default();
        system.security.bind = bind.parse().unwrap();
        system.network.base_host = host.to_owned();
        let bound = SocketAddr::new(system.security.bind, 8000);
        let own_addresses = OwnAddresses::new(Some(bound), &url(Scheme::Http, host, 8000));
        let own_addresses = own_addresses.with_agents(["http://localhost:8001/mcp"]);
        AllowList::of(&system)
            .within(&own_addresses)
            .check_of(local, asked)
    };
    for (bind, host) in [
        ("127.0.0.1", "board.example"),
        ("127.0.0.1", "203.0.113.77"),
        ("::1", "board.example"),
    ] {
        let found = asked(bind, host, "http://localhost:22/mcp");
        assert!(
            matches!(found, Err(BadEndpoint::BehindProxy(_))),
            "{host}: {found:?}"
        );
        let named = asked(bind, host, "http://localhost:8001/mcp");
        assert!(named.is_ok(), "{host}: {named:?}");
    }
    for (bind, host) in [
        ("127.0.0.1", "localhost"),
        ("127.0.0.2", "127.0.0.2"),
        ("0.0.0.0", "board.example"),
    ] {
        let found = asked(bind, host, "http://localhost:22/mcp");
        assert!(found.is_ok(), "{bind} {host}: {found:?}");
    }
}

#[test]
fn one_of_whom_nothing_is_known_is_elsewhere_unless_no_other_can_reach_us() {
    let asked = "http://localhost:8101/mcp";
    for (own, here) in [
        (&["127.0.0.1:8000"][..], true),
        (&["[::1]:8000"], true),
        (&["0.0.0.0:8000"], false),
        (&["127.0.0.1:8000", "192.0.2.7:8000"], false),
        (&[], false),
    ] {
        let list = AllowList::default().within(&own_addresses(own));
        let found = list.check_of(Origin::Unknown, asked);
        assert_eq!(found.is_ok(), here, "{own:?}: {found:?}");
    }
}

#[test]
fn the_address_that_others_are_told_is_our_own_with_its_port_alone() {
    let allowed = |address: &str| AllowedEndpoint::address(address.parse().unwrap());
    let list = AllowList::new(SecurityConfig {
        allowed_endpoints: vec![allowed("192.0.2.7")],
        ..SecurityConfig::default()
    });
    let list = list.within(&own_addresses(&["0.0.0.0:8000", "192.0.2.7:8000"]));
    let found = list.check("http://192.0.2.7:8000/mcp");
    assert!(matches!(found, Err(BadEndpoint::Own(_))), "{found:?}");
    assert!(list.check("http://192.0.2.7:8101/mcp").is_ok());
}

#[test]
fn only_a_name_is_looked_up() {
    let look_up = |name: &str, port| {
        assert_eq!(name, "board.example");
        Ok(at(SocketAddr::new([192, 0, 2, 7].into(), port)))
    };
    let found = Endpoint::read("http://board.example:8000/mcp", look_up).unwrap();
    assert_eq!(found.address(), "192.0.2.7:8000".parse().ok());
    for plain in ["http://localhost:8000/mcp", "http://[::1]:8000/mcp"] {
        assert_eq!(Endpoint::look_up(plain), Endpoint::parse(plain));
    }
}

#[test]
fn an_address_of_ipv6_stands_in_brackets() {
    assert_eq!(url(Scheme::Http, "::1", 8000), "http://[::1]:8000/mcp");
    assert_eq!(
        url(Scheme::Http, "10.0.0.7", 8000),
        "http://10.0.0.7:8000/mcp"
    );
    assert_eq!(url(Scheme::Https, "board", 8000), "https://board:8000/mcp");
}

#[test]
fn only_listed_hosts_are_called() {
    let list = AllowList::default();
    assert!(list.check("http://127.0.0.1:1/mcp").is_ok());
    assert_eq!(
        list.check("http://169.254.169.254/mcp"),
        Err(BadEndpoint::Never("169.254.169.254".parse().unwrap()))
    );
    assert_eq!(
        list.check("http://192.0.2.1/mcp"),
        Err(BadEndpoint::NotAllowed("192.0.2.1".parse().unwrap()))
    );
}

#[test]
fn registered_address_ends_in_mcp_unless_the_organiser_allows_others() {
    let strict = AllowList::default();
    let free = AllowList::new(SecurityConfig {
        any_path: true,
        ..SecurityConfig::default()
    });
    for (address, good) in [
        ("http://localhost:8101/mcp", true),
        ("http://localhost:8101/mcp/", true),
        ("http://localhost:8101/agents/P01/mcp", true),
        ("http://localhost:8101", true),
        ("mcp://localhost:8101", true),
        ("mcp://localhost", true),
        ("http://localhost:8101/", false),
        ("http://localhost:8101/mcp?next=1", false),
        ("http://localhost:8101/shutdown?to=/mcp", false),
        ("http://localhost:8101/admin", false),
        ("http://localhost:8101/notmcp", false),
        ("mcp://localhost/alpha", false),
    ] {
        let refused = strict.check_of(Origin::Pipe, address);
        let by_path = matches!(refused, Err(BadEndpoint::Path(_)));
        assert_eq!(!by_path, good, "{address}: {refused:?}");
        assert!(free.check_of(Origin::Pipe, address).is_ok(), "{address}");
    }
}

/// A list whose names have these addresses.
fn naming(allowed: &[&str], found: &[&str]) -> AllowList {
    let found: Vec<IpAddr> = found.iter().map(|found| found.parse().unwrap()).collect();
    let entries = allowed
        .iter()
        .map(|text| AllowedEndpoint::parse(text).unwrap());
    let list = AllowList::new(SecurityConfig {
        allowed_endpoints: entries.collect(),
        ..SecurityConfig::default()
    });
    list.resolving(Resolver::asking(move |_| Ok(found.clone())))
}

const NAMED: &str = "https://heron.example/mcp";

/// The addresses at which an agent with a name is called, or why it is not.
async fn called(list: &AllowList) -> Result<String, BadEndpoint> {
    let found = list.check(NAMED)?.addresses().await?;
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    Ok(found.join(", "))
}

#[test]
fn name_is_kept_in_one_form() {
    let list = AllowList::default();
    for (text, written, host) in [
        (
            "https://HERON.Example./mcp",
            "https://heron.example/mcp",
            "heron.example",
        ),
        (
            "https://heron.example:0443/mcp",
            "https://heron.example:443/mcp",
            "heron.example",
        ),
        ("mcp://lab-pc:8101", "http://lab-pc:8101/mcp", "lab-pc"),
    ] {
        let endpoint = list.check(text).unwrap();
        assert_eq!(endpoint.to_string(), written);
        assert_eq!(endpoint.host(), host);
        assert_eq!(endpoint.address(), None);
    }
    let local = Endpoint::parse("http://LOCALHOST.:8101/mcp").unwrap();
    assert_eq!(local, Endpoint::parse("http://localhost:8101/mcp").unwrap());
}

#[tokio::test]
async fn only_those_addresses_of_a_name_are_called_that_may_be() {
    for (allowed, found, callable) in [
        (&["public"][..], &["9.9.9.9"][..], "9.9.9.9:443"),
        (
            &["public"],
            &["10.0.0.7", "2620:fe::9", "127.0.0.1", "9.9.9.9"],
            "9.9.9.9:443, [2620:fe::9]:443",
        ),
        (
            &["10.0.0.0/8"],
            &["2620:fe::9", "::ffff:10.0.0.7"],
            "10.0.0.7:443",
        ),
    ] {
        let found = called(&naming(allowed, found)).await;
        assert_eq!(found.as_deref(), Ok(callable));
    }
}

#[tokio::test]
async fn name_that_leads_to_a_forbidden_address_is_refused_with_what_to_do() {
    for (allowed, found, said) in [
        (
            &["loopback"][..],
            &["9.9.9.9"][..],
            "allows it with `--allow 9.9.9.9` or `--allow public`, given to",
        ),
        (
            &["loopback"],
            &["10.0.0.7"],
            "allows it with `--allow 10.0.0.7`, given to",
        ),
        (
            &["public"],
            &["10.0.0.7", "10.0.0.8"],
            "may not answer at `10.0.0.7` here",
        ),
        (
            &["0.0.0.0/0"],
            &["169.254.169.254"],
            "`169.254.169.254` is never called",
        ),
        (
            &["loopback", "public"],
            &["127.0.0.1"],
            "`127.0.0.1` is an address of this machine",
        ),
        (
            &["loopback"],
            &["::ffff:127.0.0.1"],
            "a name may not lead here",
        ),
        (&["loopback"], &["::1"], "a name may not lead here"),
    ] {
        let refused = called(&naming(allowed, found)).await.unwrap_err();
        assert!(matches!(refused, BadEndpoint::Leads { .. }), "{refused:?}");
        let told = refused.to_string();
        let start = "`heron.example` leads to an address that is not called: ";
        assert!(told.starts_with(start) && told.contains(said), "{told}");
    }
}

#[tokio::test]
async fn name_leads_to_this_machine_only_if_a_network_of_loopback_is_listed() {
    let listed = naming(&["loopback", "127.0.0.0/8"], &["127.0.0.5"]);
    assert_eq!(called(&listed).await.as_deref(), Ok("127.0.0.5:443"));
    let away = listed.clone().away_from_manager();
    assert!(called(&away).await.is_err());
    let own = listed.within(&own_addresses(&["127.0.0.1:443"]));
    assert!(called(&own).await.is_err(), "our own port");
    for own in local::addresses() {
        let everywhere = naming(&["0.0.0.0/0", "::/0"], &[&own.to_string()]);
        let refused = called(&everywhere).await.unwrap_err().to_string();
        assert!(
            refused.contains("is an address of this machine"),
            "{refused}"
        );
    }
    // Behind a router no interface has the published address.
    let told = naming(&["public"], &["9.9.9.9"]);
    let told = told.within(&own_addresses(&["9.9.9.9:8000"]));
    assert!(called(&told).await.is_err());
}

#[tokio::test]
async fn name_of_this_machine_is_registered_from_here_alone() {
    let list = naming(&["127.0.0.0/8"], &["127.0.0.5"]);
    let caller = |from: &str| Origin::Network {
        from: from.parse().unwrap(),
        at: "127.0.0.1".parse().unwrap(),
    };
    let here = list.find_of(caller("127.0.0.1"), NAMED).await;
    assert_eq!(here, Ok(vec!["127.0.0.5:443".parse().unwrap()]));
    let elsewhere = list.find_of(caller("192.0.2.20"), NAMED).await;
    assert!(
        matches!(elsewhere, Err(BadEndpoint::Elsewhere { .. })),
        "{elsewhere:?}"
    );
    let path = list.find_of(caller("127.0.0.1"), "https://heron.example/admin");
    assert!(matches!(path.await, Err(BadEndpoint::Path(_))));
}

#[tokio::test]
async fn name_without_an_address_is_not_reached_and_a_failing_resolver_blames_nobody() {
    let none = called(&naming(&["public"], &[])).await;
    assert_eq!(none, Err(BadEndpoint::Unknown("heron.example".into())));
    let sentence = "Temporary failure in name resolution";
    let failing = Resolver::asking(move |_| Err(std::io::Error::other(sentence)));
    let failing = AllowList::default().resolving(failing);
    let failed = called(&failing).await;
    assert!(
        matches!(failed, Err(BadEndpoint::Unresolved { .. })),
        "{failed:?}"
    );
}
