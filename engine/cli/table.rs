//! Tables for people: columns as wide as their widest cell, cut to the terminal where there is
//! one, with colour for words that mean something.

use crate::output::{write_out, write_plain};
use std::borrow::Cow;
use std::io::IsTerminal;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A column is not cut below this.
const NARROWEST: usize = 10;
const GAP: usize = 2;

/// Columns whose words are judged.
const JUDGED: [&str; 10] = [
    "STAGE", "STATE", "VERDICT", "SEED", "PROVEN", "DISCOVER", "SEND", "REPLY", "INSTALL", "REASON",
];

/// Prints rows below their heads with all columns.
pub fn table(head: &[&str], rows: &[Vec<String>]) {
    print(head, rows, &[]);
}

/// Prints rows below their heads, in one go; the last column is not padded. Where a terminal is too
/// narrow, the columns of `spare` are left out one after the other, before any cell is cut.
pub fn print(head: &[&str], rows: &[Vec<String>], spare: &[&str]) {
    let terminal = std::io::stdout().is_terminal();
    let columns = terminal.then(terminal_size::terminal_size).flatten();
    let room = columns.map(|(width, _)| usize::from(width.0));
    let (kept, left_out) = kept(head, rows, spare, room);
    let head: Vec<&str> = kept.iter().map(|column| head[*column]).collect();
    let widths = widths(&head, rows, &kept, room);
    let wide: usize = widths.iter().map(|width| width + GAP).sum();
    let mut out = String::with_capacity(wide * (rows.len() + 1));
    let bold = |out: &mut String, _: usize, cell: &str| {
        out.push_str("\u{1b}[1m");
        out.push_str(cell);
        out.push_str("\u{1b}[0m");
    };
    let plain = |out: &mut String, _: usize, cell: &str| out.push_str(cell);
    let judged =
        |out: &mut String, column: usize, cell: &str| out.push_str(&painted(head[column], cell));
    let (for_head, for_row): (Paint<'_>, Paint<'_>) = match terminal {
        true => (&bold, &judged),
        false => (&plain, &plain),
    };
    line(&mut out, &mut head.iter().copied(), &widths, for_head);
    for row in rows {
        let mut cells = kept.iter().map(|column| row[*column].as_str());
        line(&mut out, &mut cells, &widths, for_row);
    }
    if !left_out.is_empty() {
        let left_out = left_out.join(", ");
        out.push_str(&format!("A wider terminal also shows {left_out}.\n"));
    }
    match terminal {
        true => write_out(format_args!("{out}"), false),
        // Nothing to take out for a pipe.
        false => write_plain(&out),
    }
}

/// Appends a cell of a column, with colour or without.
type Paint<'p> = &'p dyn Fn(&mut String, usize, &str);

/// How many cells of a terminal a text takes.
fn cells_of(text: &str) -> usize {
    match text.is_ascii() {
        true => text.len(),
        false => text.width(),
    }
}

/// Which columns are shown, and the heads of those for which there is no room.
fn kept<'h>(
    head: &[&'h str],
    rows: &[Vec<String>],
    spare: &[&str],
    room: Option<usize>,
) -> (Vec<usize>, Vec<&'h str>) {
    let mut shown: Vec<usize> = (0..head.len()).collect();
    let mut left_out = Vec::new();
    let Some(room) = room else {
        return (shown, left_out);
    };
    let need = |column: &usize| {
        let cells = rows.iter().map(|row| cells_of(&row[*column]));
        cells.chain([cells_of(head[*column])]).max().unwrap_or(0)
    };
    for spare in spare {
        let wide = shown.iter().map(need).sum::<usize>() + GAP * shown.len().saturating_sub(1);
        if wide <= room {
            break;
        }
        if let Some(at) = shown.iter().position(|column| head[*column] == *spare) {
            left_out.push(head[shown.remove(at)]);
        }
    }
    (shown, left_out)
}

/// The width of each column, in cells of a terminal: what it needs, or less where all of them
/// would not fit.
fn widths(head: &[&str], rows: &[Vec<String>], kept: &[usize], room: Option<usize>) -> Vec<usize> {
    let need = |column: usize| {
        let cells = rows.iter().map(|row| cells_of(&row[kept[column]]));
        cells.chain([cells_of(head[column])]).max().unwrap_or(0)
    };
    let mut out: Vec<usize> = (0..head.len()).map(need).collect();
    let Some(room) = room else {
        return out;
    };
    let gaps = GAP * head.len().saturating_sub(1);
    // The widest gives way first; names and ids keep what they can.
    while out.iter().sum::<usize>() + gaps > room {
        let over = out.iter().sum::<usize>() + gaps - room;
        let Some(widest) = (0..out.len()).max_by_key(|at| out[*at]) else {
            break;
        };
        let next = out.iter().enumerate().filter(|(at, _)| *at != widest);
        let next = next.map(|(_, width)| *width).max().unwrap_or(0);
        let least = cells_of(head[widest]).max(NARROWEST);
        let target = out[widest]
            .saturating_sub(over)
            .max(next.saturating_sub(1))
            .max(least);
        if target >= out[widest] {
            break;
        }
        out[widest] = target;
    }
    out
}

fn line(out: &mut String, cells: &mut dyn Iterator<Item = &str>, widths: &[usize], put: Paint<'_>) {
    for (column, cell) in cells.enumerate() {
        let shown = cut(cell, widths[column]);
        put(out, column, &shown);
        if column + 1 < widths.len() {
            let pad = widths[column].saturating_sub(cells_of(&shown)) + GAP;
            out.extend(std::iter::repeat_n(' ', pad));
        }
    }
    out.push('\n');
}

/// A text in so many cells, with a mark where something is left out.
fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if cells_of(text) <= width {
        return text.into();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out.into()
}

/// Green went well, yellow wants a look, red went wrong; everything else is plain.
fn painted<'c>(head: &str, cell: &'c str) -> Cow<'c, str> {
    if !JUDGED.contains(&head) || cell.is_empty() {
        return cell.into();
    }
    let colour = match cell {
        "supported" | "seen" | "turn_done" | "replied" | "installed" | "verified" => 32,
        "unsupported" | "refused" | "failed" | "expired" | "uncertain" | "misdelivered"
        | "drift" | "blind" | "blocked" => 31,
        "experimental" | "held" | "queued" | "outdated" | "incomplete" | "not installed" => 33,
        _ if head == "REASON" => 33,
        _ => return cell.into(),
    };
    format!("\u{1b}[{colour}m{cell}\u{1b}[0m").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(room: Option<usize>) -> Vec<String> {
        let head = ["NAME", "STAGE", "FOLDER"];
        let rows = [
            vec![
                "Design Review",
                "seen",
                "/home/dev/projects/webshop/checkout",
            ],
            vec!["設計レビュー", "failed", "/x"],
        ];
        let rows = rows.map(|row| row.into_iter().map(str::to_owned).collect::<Vec<_>>());
        let widths = widths(&head, &rows, &[0, 1, 2], room);
        let plain = |out: &mut String, _: usize, cell: &str| out.push_str(cell);
        let mut out = String::new();
        line(&mut out, &mut head.iter().copied(), &widths, &plain);
        for row in &rows {
            line(
                &mut out,
                &mut row.iter().map(String::as_str),
                &widths,
                &plain,
            );
        }
        out.lines().map(str::to_owned).collect()
    }

    #[test]
    fn columns_line_up_in_any_script_and_nothing_is_cut_for_a_pipe() {
        assert_eq!(
            drawn(None),
            [
                "NAME           STAGE   FOLDER",
                "Design Review  seen    /home/dev/projects/webshop/checkout",
                "設計レビュー   failed  /x",
            ]
        );
    }

    #[test]
    fn a_terminal_gets_lines_that_fit_and_marks_where_they_were_cut() {
        for room in [40, 44, 50, 58] {
            for line in drawn(Some(room)) {
                assert!(line.width() <= room, "{room}: {line}");
            }
        }
        assert_eq!(
            drawn(Some(44))[1],
            "Design Review  seen    /home/dev/projects/w…"
        );
        // Too narrow for any table: short columns stay readable, and the terminal wraps.
        assert!(drawn(Some(8))[1].contains('…'));
    }

    #[test]
    fn a_terminal_that_is_too_narrow_gets_fewer_columns_in_the_stated_order() {
        let head = ["NAME", "RULE", "SEND", "WHAT"];
        let rows = [["codex", "built-in", "supported", "Codex threads"].map(str::to_owned)];
        let rows = rows.map(Vec::from);
        let shown = |room| kept(&head, &rows, &["WHAT", "RULE"], room);
        // 5 + 8 + 9 + 13 cells and three gaps.
        assert_eq!(shown(None), (vec![0, 1, 2, 3], vec![]));
        assert_eq!(shown(Some(41)), (vec![0, 1, 2, 3], vec![]));
        assert_eq!(shown(Some(40)), (vec![0, 1, 2], vec!["WHAT"]));
        assert_eq!(shown(Some(25)), (vec![0, 2], vec!["WHAT", "RULE"]));
        assert_eq!(shown(Some(5)), (vec![0, 2], vec!["WHAT", "RULE"]));
    }

    #[test]
    fn colour_judges_words_of_judged_columns_alone() {
        assert_eq!(painted("STAGE", "replied"), "\u{1b}[32mreplied\u{1b}[0m");
        assert_eq!(
            painted("STAGE", "uncertain"),
            "\u{1b}[31muncertain\u{1b}[0m"
        );
        assert_eq!(
            painted("REASON", "the folder is gone"),
            "\u{1b}[33mthe folder is gone\u{1b}[0m"
        );
        assert_eq!(painted("NAME", "failed"), "failed");
        assert_eq!(painted("STAGE", "submitted"), "submitted");
    }
}
