//! The tables of a saved question as a picture for a document: plain SVG, readable on light and on dark, with fonts that every
//! machine has.

use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::Value;

use super::results;
use super::table::Table;

/// Draws what [`Section::json`](super::Section::json) gave; nothing if it has no table.
pub(super) fn draw(saved: &Value) -> Option<String> {
    let tables = saved["tables"].as_array()?.iter().map(Table::read).collect::<Option<Vec<_>>>()?;
    if tables.is_empty() {
        return None;
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let of = |name: &str| text(&saved["measured"][name]);
    let captions = [
        format!("{}, {}, {} cores", of("date"), of("processor"), of("cores")),
        format!("{}, {}: {}", of("rustc"), of("profile"), text(&saved["command"])),
    ];
    let widths = widths(&tables);
    let caption_width = captions.iter().map(|caption| length(caption) * LETTER).max().unwrap_or(0);
    let width = 2 * MARGIN + widths.iter().sum::<usize>().max(caption_width);
    let mut picture = Picture { body: String::new(), below: MARGIN };
    for table in &tables {
        picture.table(table, &widths);
    }
    for caption in &captions {
        picture.below += LINE;
        picture.text(MARGIN, "dim", caption);
    }
    let height = picture.below + MARGIN;
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\">\n<style>\n{STYLE}</style>\n<rect class=\"ground\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>\n{}</svg>\n",
        picture.body
    ))
}

/// Draws every saved question anew, for a change of how it is drawn.
pub(crate) fn draw_saved() -> anyhow::Result<()> {
    for (path, picture) in drawn()? {
        std::fs::write(&path, picture).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The pictures of what is saved, and where they belong.
fn drawn() -> anyhow::Result<Vec<(PathBuf, String)>> {
    let mut drawn = Vec::new();
    for file in std::fs::read_dir(results())? {
        let path = file?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let saved = std::fs::read_to_string(&path)?;
            let saved = serde_json::from_str(&saved).with_context(|| path.display().to_string())?;
            drawn.extend(draw(&saved).map(|picture| (path.with_extension("svg"), picture)));
        }
    }
    Ok(drawn)
}

/// In pixels. A letter of a monospaced font is never wider than 0.62 of its height.
const LETTER: usize = 8;
const LINE: usize = 24;
const MARGIN: usize = 20;
const GAP: usize = 28;

/// The ground is painted, so that the words are on what they were chosen for even where a document has a ground of its own.
const STYLE: &str = "\
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #1f2328; white-space: pre }
.end { text-anchor: end }
.strong { font-weight: 700 }
.dim { fill: #59636e }
.ground { fill: #ffffff; stroke: #d1d9e0 }
.rule { stroke: #d1d9e0 }
.bar { fill: #d8e0e8 }
.own { fill: #a8d5b5 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .dim { fill: #9198a1 }
  .ground { fill: #0d1117; stroke: #3d444d }
  .rule { stroke: #3d444d }
  .bar { fill: #2b333d }
  .own { fill: #1f5130 }
}
";

/// Of the columns, the same for all tables, so that they stand below each other.
fn widths(tables: &[Table]) -> Vec<usize> {
    let mut widths = Vec::new();
    for table in tables {
        widths.resize(widths.len().max(table.columns.len()), 0);
        for (index, width) in widths.iter_mut().enumerate().take(table.columns.len()) {
            let cells = table.rows.iter().map(|row| match index.checked_sub(1) {
                None => length(&row.name),
                Some(index) => length(&row.cells[index].to_string()),
            });
            let widest = cells.chain([length(&table.columns[index])]).max().unwrap_or(0);
            *width = (*width).max(widest * LETTER + GAP);
        }
    }
    widths
}

fn length(text: &str) -> usize {
    text.chars().count()
}

struct Picture {
    body: String,
    /// Where the lowest line of text stands.
    below: usize,
}

impl Picture {
    fn table(&mut self, table: &Table, widths: &[usize]) {
        self.below += LINE;
        self.text(MARGIN, "strong", &table.title);
        self.below += LINE;
        self.line(MARGIN, widths, &table.columns, "dim");
        let right = MARGIN + widths.iter().sum::<usize>();
        self.push(&format!(
            "<line class=\"rule\" x1=\"{MARGIN}\" x2=\"{right}\" y1=\"{0}\" y2=\"{0}\"/>",
            self.below + 8
        ));
        self.below += 6;
        let largest = table.rows.iter().filter_map(|row| row.cells.first()?.middle()).fold(0.0, f64::max);
        for row in &table.rows {
            self.below += LINE;
            if let (Some(value), Some(&column)) =
                (row.cells.first().and_then(|cell| cell.middle()), widths.get(1))
            {
                let class = if row.is_ours { "own" } else { "bar" };
                let share = if largest > 0.0 { value / largest } else { 0.0 };
                self.push(&format!(
                    "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{:.0}\" height=\"18\" rx=\"3\"/>",
                    MARGIN + widths[0],
                    self.below - 14,
                    share * f64::from(u32::try_from(column).unwrap_or(u32::MAX))
                ));
            }
            let words = std::iter::once(row.name.clone()).chain(row.cells.iter().map(ToString::to_string));
            self.line(MARGIN, widths, &words.collect::<Vec<_>>(), if row.is_ours { "strong" } else { "" });
        }
        self.below += LINE;
    }

    /// Names begin where their column begins, figures end where theirs ends.
    fn line(&mut self, left: usize, widths: &[usize], words: &[String], class: &str) {
        let mut right = left;
        for (index, (word, width)) in words.iter().zip(widths).enumerate() {
            if index == 0 {
                self.text(left, class, word);
            } else {
                self.text(right + width - 6, format!("end {class}").trim_end(), word);
            }
            right += width;
        }
    }

    fn text(&mut self, x: usize, class: &str, words: &str) {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        self.push(&format!("<text{class} x=\"{x}\" y=\"{}\">{}</text>", self.below, escaped(words)));
    }

    fn push(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::table::tests::example;

    fn saved() -> Value {
        json!({
            "command": "cargo xtask bench call --save",
            "measured": {
                "date": "2026-11-22", "processor": "Example CPU", "cores": 2, "rustc": "rustc 1.95.0", "profile": "release",
            },
            "tables": [example().json()],
        })
    }

    #[test]
    fn a_table_is_drawn_as_the_committed_picture() {
        assert_eq!(draw(&saved()).unwrap(), include_str!("picture/example.svg"));
    }

    #[test]
    fn what_has_no_table_has_no_picture() {
        assert_eq!(draw(&json!({ "tables": [] })), None);
        assert_eq!(draw(&json!({})), None);
    }

    /// Nobody edits the one without the other.
    #[test]
    fn the_committed_pictures_are_of_the_committed_results() {
        for (path, picture) in drawn().unwrap() {
            let committed = std::fs::read_to_string(&path).unwrap_or_default();
            let path = path.display();
            assert!(picture == committed, "{path}: `cargo run -p payments-bench -- draw` draws it anew");
        }
    }
}
