//! The difference between two texts, line by line.

/// A line of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'t> {
    /// In both.
    Same(&'t str),
    /// Only in the first.
    Gone(&'t str),
    /// Only in the second.
    New(&'t str),
}

/// Bigger middles are shown as replaced as a whole; no rule comes near.
const CELLS: usize = 16_000_000;

/// Every line of both texts, in order.
pub fn between<'t>(before: &'t str, after: &'t str) -> Vec<Line<'t>> {
    let (a, b): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (mid_a, mid_b) = (&a[head..], &b[head..]);
    let both = mid_a.iter().rev().zip(mid_b.iter().rev());
    let tail = both.take_while(|(a, b)| a == b).count();
    let (mid_a, mid_b) = (&mid_a[..mid_a.len() - tail], &mid_b[..mid_b.len() - tail]);
    let mut out: Vec<Line> = a[..head].iter().map(|l| Line::Same(l)).collect();
    out.extend(middle(mid_a, mid_b));
    out.extend(a[a.len() - tail..].iter().map(|l| Line::Same(l)));
    out
}

/// By the longest common subsequence.
fn middle<'t>(a: &[&'t str], b: &[&'t str]) -> Vec<Line<'t>> {
    let width = b.len() + 1;
    if (a.len() + 1).saturating_mul(width) > CELLS {
        let gone = a.iter().map(|l| Line::Gone(l));
        return gone.chain(b.iter().map(|l| Line::New(l))).collect();
    }
    let mut longest = vec![0u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            longest[i * width + j] = match a[i] == b[j] {
                true => longest[(i + 1) * width + j + 1] + 1,
                false => longest[(i + 1) * width + j].max(longest[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, Vec::new());
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            out.push(Line::Same(a[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == b.len()
            || (i < a.len() && longest[(i + 1) * width + j] >= longest[i * width + j + 1])
        {
            out.push(Line::Gone(a[i]));
            i += 1;
        } else {
            out.push(Line::New(b[j]));
            j += 1;
        }
    }
    out
}

/// The changed lines with `-` and `+` before them, and a line of context around each place;
/// `…` stands for what is left out.
pub fn unified(lines: &[Line]) -> Vec<String> {
    let near = |at: usize| {
        let from = at.saturating_sub(1);
        let around = &lines[from..lines.len().min(at + 2)];
        around.iter().any(|l| !matches!(l, Line::Same(_)))
    };
    let mut out = Vec::new();
    let mut left_out = false;
    for (at, line) in lines.iter().enumerate() {
        let text = match line {
            Line::Gone(text) => format!("-{text}"),
            Line::New(text) => format!("+{text}"),
            Line::Same(text) if near(at) => format!(" {text}"),
            Line::Same(_) => {
                left_out = true;
                continue;
            }
        };
        if left_out && !out.is_empty() {
            out.push("…".to_owned());
        }
        left_out = false;
        out.push(text);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_shown_with_their_neighbours() {
        let before = "a\nb\nc\nd\ne\nf\ng\n";
        let after = "a\nB\nc\nd\ne\nf\nx\ng\n";
        let lines = between(before, after);
        assert_eq!(
            unified(&lines),
            [" a", "-b", "+B", " c", "…", " f", "+x", " g"]
        );
        assert_eq!(unified(&between(before, before)), Vec::<String>::new());
        assert_eq!(unified(&between("", "x")), ["+x"]);
        assert_eq!(unified(&between("x", "")), ["-x"]);
    }

    #[test]
    fn putting_the_lines_together_gives_both_texts() {
        let before = "q\na\nb\na\nc\nz";
        let after = "a\na\nc\nb\nc\ny\nz";
        let lines = between(before, after);
        let side = |new: bool| -> Vec<&str> {
            lines
                .iter()
                .filter_map(|line| match (line, new) {
                    (Line::Same(text), _) | (Line::Gone(text), false) | (Line::New(text), true) => {
                        Some(*text)
                    }
                    _ => None,
                })
                .collect()
        };
        assert_eq!(side(false).join("\n"), before);
        assert_eq!(side(true).join("\n"), after);
    }
}
