//! Who may ask. Every request: a host name that is ours (a rebound name is not). Every change and every socket: an origin that is
//! ours, if a browser sent it. Bound to more than loopback: a token as well.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::{ApiError, ApiResult, Reason};
use crate::state::Shared;

/// The cookie that holds the token.
const COOKIE: &str = "afterstate_token";

/// Nothing from elsewhere, nothing inline: the page needs neither.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The names under which the server may be asked, and its token.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// Host names and addresses without a port, in lower case.
    pub hosts: Vec<String>,
    pub port: u16,
    pub token: Option<String>,
}

impl Guard {
    /// Is `host` or `host:port` one of ours?
    fn knows(&self, authority: &str) -> bool {
        let (host, port) = match authority.rsplit_once(':') {
            // The colons of an IPv6 address stand inside brackets.
            Some((host, port)) if !port.contains(']') => (host, port.parse().ok()),
            _ => (authority, Some(80)),
        };
        port == Some(self.port) && self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
    }

    fn check_host(&self, headers: &HeaderMap) -> ApiResult<()> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        if hosts.next().is_none() && host.is_some_and(|host| self.knows(host)) {
            return Ok(());
        }
        Err(ApiError::new(
            StatusCode::MISDIRECTED_REQUEST,
            "this host name is not one of the server's (see --allow-host)",
        ))
    }

    /// Browsers say where a request comes from; programs need not.
    fn check_origin(&self, headers: &HeaderMap) -> ApiResult<()> {
        let ours = |origin: &str| origin.strip_prefix("http://").is_some_and(|authority| self.knows(authority));
        let origin_is_ours = headers.get(header::ORIGIN).is_none_or(|origin| origin.to_str().is_ok_and(ours));
        let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
        let site_is_ours = site.is_none_or(|site| site == b"same-origin" || site == b"none");
        if origin_is_ours && site_is_ours {
            return Ok(());
        }
        Err(ApiError::new(StatusCode::FORBIDDEN, "requests from other sites are refused"))
    }

    /// The token from the address, if it is there and right: the visit that sets the cookie.
    fn admits(&self, uri: &Uri) -> Option<String> {
        let token = self.token.as_ref()?;
        let given = uri.query()?.split('&').find_map(|pair| pair.strip_prefix("token="))?;
        is_same(given, token).then(|| token.clone())
    }

    fn check_token(&self, headers: &HeaderMap) -> ApiResult<()> {
        let Some(token) = &self.token else { return Ok(()) };
        let bearer = headers.get(header::AUTHORIZATION).and_then(|v| v.to_str().ok()?.strip_prefix("Bearer "));
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|v| v.to_str().ok());
        let cookie = |pair: &str| {
            pair.trim().split_once('=').is_some_and(|(name, value)| name == COOKIE && is_same(value, token))
        };
        if bearer.is_some_and(|given| is_same(given, token)) || cookies.flat_map(|v| v.split(';')).any(cookie) {
            return Ok(());
        }
        Err(ApiError::new(
            StatusCode::UNAUTHORIZED,
            "a token is needed: open the address that the server printed, or send it as a bearer token",
        ))
    }
}

/// Compares without telling by its time where the difference is.
fn is_same(given: &str, token: &str) -> bool {
    let differences = given.bytes().zip(token.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    given.len() == token.len() && differences == 0
}

/// Checks a request before anything else sees it, adds the headers of every response, and logs refusals.
pub(crate) async fn guard(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let guard = &shared.guard;
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let is_socket = request.headers().contains_key(header::UPGRADE);
    let changes = is_socket || !matches!(method, Method::GET | Method::HEAD);
    let checked = guard
        .check_host(request.headers())
        .and_then(|()| if changes { guard.check_origin(request.headers()) } else { Ok(()) });
    let mut response = match checked {
        Err(error) => error.into_response(),
        Ok(()) => match (guard.admits(request.uri()), guard.check_token(request.headers())) {
            (Some(token), _) if !changes => admission(&token),
            (_, Ok(())) => next.run(request).await,
            (_, Err(error)) => error.into_response(),
        },
    };
    let is_refusal = response.status().is_client_error() || response.status().is_server_error();
    if is_refusal && response.extensions().get::<Reason>().is_none() {
        // The framework's own refusals are plain text: an address or an upgrade that cannot be read.
        let what = response.status().canonical_reason().unwrap_or("refused").to_ascii_lowercase();
        response = ApiError::new(response.status(), format!("this request cannot be answered: {what}")).into_response();
    }
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    if !response.headers().contains_key(header::CACHE_CONTROL) {
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if is_refusal {
        let reason = response.extensions().get::<Reason>().map_or("", |reason| &reason.0);
        shared.log(&format!("{method} {path}: {} {reason}", response.status().as_u16()));
    }
    response
}

/// Puts the token where the page's later requests bring it back, and takes it out of the address.
fn admission(token: &str) -> Response {
    let cookie = format!("{COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000");
    let headers = [(header::SET_COOKIE, cookie), (header::LOCATION, "/".to_owned())];
    (StatusCode::SEE_OTHER, headers).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> Guard {
        let hosts = ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned).to_vec();
        Guard { hosts, port: 2048, token: None }
    }

    #[test]
    fn only_our_own_names_with_our_own_port_are_known() {
        for good in ["127.0.0.1:2048", "localhost:2048", "LOCALHOST:2048", "[::1]:2048"] {
            assert!(guard().knows(good), "{good}");
        }
        for bad in [
            "",
            "localhost",
            "localhost:80",
            "localhost:20480",
            "evil.example:2048",
            "127.0.0.1.evil.example:2048",
            "[::1]",
            "localhost:2048:2048",
            "localhost:",
            "127.0.0.1@evil.example:2048",
            "::1:2048",
            "localhost:+2048x",
        ] {
            assert!(!guard().knows(bad), "{bad}");
        }
        let plain = Guard { port: 80, ..guard() };
        assert!(plain.knows("localhost") && plain.knows("[::1]"));
    }

    #[test]
    fn tokens_are_compared_whole() {
        assert!(is_same("abc", "abc"));
        for bad in ["", "ab", "abcd", "abd"] {
            assert!(!is_same(bad, "abc"), "{bad}");
        }
    }
}
