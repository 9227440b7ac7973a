//! The full-screen terminal interface of `watch`, `play` and `replay`, and what their plain text shares with it.
//! Each command fills a [`scene::Scene`]; one renderer draws it, so that the three look alike and are tested alike.

pub mod board_view;
pub mod layout;
pub mod palette;
pub mod panel;
pub mod play;
pub mod replay;
pub mod scene;
pub mod screen;
pub mod speed;
pub mod text;
pub mod watch;

/// How to talk to whoever reads the output; decided once, from the options and the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalStyle {
    /// Colours are welcome.
    pub color: bool,
    /// Both standard input and output are a terminal.
    pub interactive: bool,
    /// A program reads the output.
    pub json: bool,
}

impl TerminalStyle {
    /// May the command take over the whole screen?
    pub fn full_screen(&self, plain: bool) -> bool {
        self.interactive && !self.json && !plain
    }
}
