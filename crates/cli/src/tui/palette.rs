//! The colours of tiles and text on every kind of terminal, from true colour down to none.
//! One row a tile, so that a colour is chosen once and its text is always readable on it.

use ratatui::style::{Color, Modifier, Style};

/// How many colours the terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// None: attributes such as bold only.
    Plain,
    /// The sixteen of old.
    Sixteen,
    /// The 256 of xterm.
    Indexed,
    /// 24 bits.
    True,
}

/// A colour in each depth: red, green and blue; its xterm number; the nearest of the sixteen.
struct Hue(u32, u8, Color);

/// By exponent; the first is an empty cell, the last serves all larger tiles. Up to 2048 the colours of the original game.
const TILES: [Hue; 19] = [
    Hue(0xcdc1b4, 187, Color::Black),
    Hue(0xeee4da, 255, Color::Gray),
    Hue(0xede0c8, 230, Color::White),
    Hue(0xf2b179, 215, Color::LightYellow),
    Hue(0xf59563, 209, Color::Yellow),
    Hue(0xf67c5f, 203, Color::LightRed),
    Hue(0xf65e3b, 160, Color::Red),
    Hue(0xedcf72, 222, Color::LightGreen),
    Hue(0xedcc61, 221, Color::Green),
    Hue(0xedc850, 220, Color::LightCyan),
    Hue(0xedc53f, 214, Color::Cyan),
    Hue(0xedc22e, 226, Color::LightBlue),
    Hue(0x8fc17a, 107, Color::Blue),
    Hue(0x4fae7f, 71, Color::LightMagenta),
    Hue(0x3aa6b9, 37, Color::Magenta),
    Hue(0x2f62ad, 26, Color::LightGreen),
    Hue(0x5f43a8, 55, Color::LightRed),
    Hue(0x93307f, 90, Color::White),
    Hue(0x3c3a32, 237, Color::DarkGray),
];

/// Between the tiles.
const BOARD: Hue = Hue(0xbbada0, 144, Color::DarkGray);
/// Text on light and on dark tiles.
const INK: Hue = Hue(0x26211c, 235, Color::Black);
const PAPER: Hue = Hue(0xf9f6f2, 231, Color::White);

/// The styles of one terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette(Depth);

impl Palette {
    pub const fn new(depth: Depth) -> Self {
        Self(depth)
    }

    /// As many colours as the environment says the terminal has.
    pub fn detect(color: bool) -> Self {
        let variable = |name| std::env::var(name).unwrap_or_default();
        Self::new(depth_of(color, &variable("COLORTERM"), &variable("TERM")))
    }

    /// Are tiles told apart by colour?
    pub fn is_coloured(self) -> bool {
        self.0 != Depth::Plain
    }

    /// The gaps between tiles.
    pub fn board(self) -> Style {
        if self.is_coloured() { Style::new().bg(self.color(&BOARD)) } else { Style::new() }
    }

    /// A tile, or an empty cell for exponent 0.
    pub fn tile(self, exponent: u8) -> Style {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        if !self.is_coloured() {
            return bold;
        }
        let hue = &TILES[usize::from(exponent).min(TILES.len() - 1)];
        bold.bg(self.color(hue)).fg(self.color(self.text_on(hue)))
    }

    /// What matters most, such as the best move. This and the next two avoid the bright colours, which vanish on white.
    pub fn strong(self) -> Style {
        self.text(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    /// Good news.
    pub fn good(self) -> Style {
        self.text(Color::Green).add_modifier(Modifier::BOLD)
    }

    /// Bad news.
    pub fn bad(self) -> Style {
        self.text(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// A heading.
    pub fn title(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Labels and keys.
    pub fn quiet(self) -> Style {
        // Dimmed, not grey: readable on light and on dark backgrounds alike.
        Style::new().add_modifier(Modifier::DIM)
    }

    /// Bars.
    pub fn bar(self) -> Style {
        self.text(Color::Cyan)
    }

    fn text(self, color: Color) -> Style {
        if self.is_coloured() { Style::new().fg(color) } else { Style::new() }
    }

    fn color(self, hue: &Hue) -> Color {
        match self.0 {
            Depth::Plain => Color::Reset,
            Depth::Sixteen => hue.2,
            Depth::Indexed => Color::Indexed(hue.1),
            Depth::True => Color::from_u32(hue.0),
        }
    }

    fn text_on(self, hue: &Hue) -> &'static Hue {
        let dark = match self.0 {
            Depth::Sixteen => {
                matches!(hue.2, Color::Black | Color::Red | Color::Blue | Color::Magenta | Color::DarkGray)
            }
            Depth::Indexed => is_dark(indexed_rgb(hue.1)),
            Depth::Plain | Depth::True => is_dark(hue.0),
        };
        if dark { &PAPER } else { &INK }
    }
}

fn depth_of(color: bool, colorterm: &str, term: &str) -> Depth {
    match () {
        () if !color || term == "dumb" => Depth::Plain,
        () if colorterm == "truecolor" || colorterm == "24bit" => Depth::True,
        () if term.ends_with("-direct") => Depth::True,
        () if term.contains("256") => Depth::Indexed,
        () => Depth::Sixteen,
    }
}

/// The colour of an xterm number from 16 on: a cube of six levels, then greys.
fn indexed_rgb(index: u8) -> u32 {
    let index = u32::from(index);
    if index >= 232 {
        return (8 + 10 * (index - 232)) * 0x01_01_01;
    }
    let level = |n: u32| if n == 0 { 0 } else { 55 + 40 * n };
    let cube = index.saturating_sub(16);
    level(cube / 36) << 16 | level(cube / 6 % 6) << 8 | level(cube % 6)
}

/// Is white text easier to read on it than black? By the contrast formula of WCAG 2.
fn is_dark(rgb: u32) -> bool {
    contrast(rgb, PAPER.0) > contrast(rgb, INK.0)
}

fn contrast(a: u32, b: u32) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn luminance(rgb: u32) -> f64 {
    let channel = |shift: u32| {
        let c = f64::from(rgb >> shift & 255) / 255.0;
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * channel(16) + 0.7152 * channel(8) + 0.0722 * channel(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_tells_the_depth() {
        assert_eq!(depth_of(false, "truecolor", "xterm-256color"), Depth::Plain);
        assert_eq!(depth_of(true, "truecolor", "xterm"), Depth::True);
        assert_eq!(depth_of(true, "24bit", ""), Depth::True);
        assert_eq!(depth_of(true, "", "screen-256color"), Depth::Indexed);
        assert_eq!(depth_of(true, "", "linux"), Depth::Sixteen);
        assert_eq!(depth_of(true, "", "dumb"), Depth::Plain);
    }

    #[test]
    fn every_tile_is_readable() {
        for hue in &TILES {
            let best = |rgb| contrast(rgb, INK.0).max(contrast(rgb, PAPER.0));
            assert!(best(hue.0) >= 4.5, "{:06x}: {}", hue.0, best(hue.0));
            assert!(best(indexed_rgb(hue.1)) >= 4.5, "{}: {}", hue.1, best(indexed_rgb(hue.1)));
        }
        for exponent in 0..=30 {
            let style = Palette::new(Depth::Sixteen).tile(exponent);
            assert_ne!(style.fg, style.bg, "exponent {exponent}");
        }
    }

    #[test]
    fn neighbouring_tiles_differ() {
        for depth in [Depth::Sixteen, Depth::Indexed, Depth::True] {
            for exponent in 0..17 {
                let palette = Palette::new(depth);
                assert_ne!(palette.tile(exponent).bg, palette.tile(exponent + 1).bg, "{depth:?} {exponent}");
            }
        }
    }

    #[test]
    fn plain_means_no_colour_at_all() {
        let plain = Palette::new(Depth::Plain);
        for style in
            [plain.board(), plain.tile(0), plain.tile(11), plain.strong(), plain.good(), plain.bad(), plain.bar()]
        {
            assert_eq!((style.fg, style.bg), (None, None));
        }
    }
}
