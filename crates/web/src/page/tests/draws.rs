//! What the browser needs to make a draw again reaches it unchanged.

use super::super::*;
use super::models;
use crate::model::MatchPage;
use std::sync::Arc;

fn page_with_share(share: &str) -> MatchPage {
    let mut result = models::result();
    if let Some(draw) = &mut result.draw {
        draw.nonces[0] = share.to_owned();
    }
    MatchPage {
        result: Some(Arc::new(result)),
        ..models::match_page()
    }
}

#[test]
fn a_plain_share_is_told_as_it_is() {
    let html = match_main(&page_with_share("a1b2"), Links::Site).into_string();
    assert!(html.contains(r#"data-nonce-a="a1b2""#));
    assert!(!html.contains("data-nonces"));
}

#[test]
fn a_share_that_html_would_change_is_told_as_json() {
    let html = match_main(&page_with_share("a\rb"), Links::Site).into_string();
    assert!(html.contains(r#"data-nonces="[&quot;a\rb&quot;,&quot;&quot;]""#));
}

#[test]
fn a_game_without_a_number_has_only_its_promise_checked() {
    let mut result = models::result();
    result.details.clear();
    let page = MatchPage {
        result: Some(Arc::new(result)),
        ..models::match_page()
    };
    let html = match_main(&page, Links::Site).into_string();
    assert!(html.contains("data-commitment"));
    assert!(!html.contains("data-number") && !html.contains("data-lowest"));
}

#[test]
fn a_match_without_a_draw_shows_none() {
    let mut result = models::result();
    result.draw = None;
    let page = MatchPage {
        result: Some(Arc::new(result)),
        ..models::match_page()
    };
    assert!(
        !match_main(&page, Links::Site)
            .into_string()
            .contains("class=\"card draw\"")
    );
}
