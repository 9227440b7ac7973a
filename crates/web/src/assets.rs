//! The page itself, part of the binary.

use afterstate_arena::report::FIGURE_STYLE;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

use crate::error::ApiError;

/// One file of the page.
pub(crate) struct Asset {
    path: &'static str,
    kind: &'static str,
    text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

macro_rules! assets {
    ($($path:literal: $kind:ident $file:literal),* $(,)?) => {
        /// Every file of the page.
        pub(crate) const ASSETS: &[Asset] = &[
            Asset { path: "/figures.css", kind: STYLE, text: FIGURE_STYLE },
            $(Asset { path: $path, kind: $kind, text: include_str!(concat!("../page/", $file)) }),*
        ];
    };
}

assets! {
    "/": HTML "index.html",
    "/style.css": STYLE "style.css",
    "/icon.svg": PICTURE "icon.svg",
    "/js/main.js": SCRIPT "js/main.js",
    "/js/dom.js": SCRIPT "js/dom.js",
    "/js/api.js": SCRIPT "js/api.js",
    "/js/board.js": SCRIPT "js/board.js",
    "/js/values.js": SCRIPT "js/values.js",
    "/js/form.js": SCRIPT "js/form.js",
    "/js/grade.js": SCRIPT "js/grade.js",
    "/js/chart.js": SCRIPT "js/chart.js",
    "/js/play.js": SCRIPT "js/play.js",
    "/js/watch.js": SCRIPT "js/watch.js",
    "/js/analyse.js": SCRIPT "js/analyse.js",
    "/js/review.js": SCRIPT "js/review.js",
    "/js/compare.js": SCRIPT "js/compare.js",
    "/js/runs.js": SCRIPT "js/runs.js",
}

/// A mark that changes when the file does.
fn tag(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("\"{hash:016x}\"")
}

/// Everything that is not the interface: a file of the page, or a word that there is none.
pub(crate) async fn asset(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.path == uri.path()) else {
        return ApiError::missing("there is nothing at this address").into_response();
    };
    if !matches!(method, Method::GET | Method::HEAD) {
        return ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "the page can only be read").into_response();
    }
    let tag = tag(asset.text);
    let caching = [(header::ETAG, tag.clone()), (header::CACHE_CONTROL, "no-cache".to_owned())];
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, caching).into_response();
    }
    (caching, [(header::CONTENT_TYPE, asset.kind)], asset.text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small_and_asks_for_nothing_from_elsewhere() {
        let bytes: usize = ASSETS.iter().map(|asset| asset.text.len()).sum();
        assert!(bytes < 300_000, "{bytes} bytes");
        for asset in ASSETS {
            let foreign = asset.text.replace("http://www.w3.org/2000/svg", "");
            assert!(!foreign.contains("http://") && !foreign.contains("https://"), "{}", asset.path);
        }
    }
}
