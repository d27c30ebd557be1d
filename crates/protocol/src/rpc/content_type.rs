//! The one header that framing depends on.

use super::error::{Refusal, RpcError, Status};

/// Checks that a `Content-Type` announces JSON, whatever its parameters.
///
/// An absent header is refused as well: a web page can send a body without one to a stranger's
/// port, while announcing JSON needs the permission of whoever listens there.
///
/// # Errors
///
/// Returns the error to answer with, under status 415.
pub fn check_content_type(header: Option<&str>) -> Result<(), Refusal> {
    // Almost everybody spells it so; all other spellings are taken apart.
    if header == Some("application/json") || header.is_some_and(is_json) {
        return Ok(());
    }
    let wanted = "The request must carry the header `Content-Type: application/json`.";
    Err(Refusal {
        error: RpcError::invalid_request(wanted),
        status: Status::UnsupportedMediaType,
    })
}

fn is_json(header: &str) -> bool {
    const FAMILY: &str = "application/";
    const SUFFIX: &str = "+json";
    let media_type = header.split(';').next().unwrap_or_default().trim();
    let Some((family, subtype)) = media_type.split_at_checked(FAMILY.len()) else {
        return false;
    };
    let name = subtype
        .len()
        .checked_sub(SUFFIX.len())
        .and_then(|end| subtype.split_at_checked(end))
        .filter(|(_, suffix)| suffix.eq_ignore_ascii_case(SUFFIX))
        .map(|(name, _)| name);
    family.eq_ignore_ascii_case(FAMILY)
        && (subtype.eq_ignore_ascii_case("json") || name.is_some_and(is_name))
}

fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
    !text.is_empty() && text.bytes().all(allowed)
}
