//! A chart of lines on logarithmic axes, as SVG. It knows nothing of what is measured.

use std::fmt::Write as _;

/// A named line of points, both coordinates above zero.
pub struct Line<'a> {
    pub name: &'a str,
    pub points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 520.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 210.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 60.0;
/// Told apart by people who see colours differently, too.
const COLOURS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933",
];

/// The decades that hold all values: the exponents of the first and the last.
fn decades(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let logs: Vec<f64> = values.filter(|v| *v > 0.0).map(f64::log10).collect();
    let least = logs.iter().copied().fold(f64::INFINITY, f64::min);
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match least.is_finite() {
        true => (least.floor(), most.ceil().max(least.floor() + 1.0)),
        false => (0.0, 1.0),
    }
}

/// Draws the lines.
pub fn svg(title: &str, across: &str, up: &str, lines: &[Line<'_>]) -> String {
    let all = || lines.iter().flat_map(|line| line.points.iter());
    let (x0, x1) = decades(all().map(|p| p.0));
    let (y0, y1) = decades(all().map(|p| p.1));
    let x = |v: f64| LEFT + (v.log10() - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT);
    let y = |v: f64| HEIGHT - BOTTOM - (v.log10() - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"16\">{title}</text>\n"
    );
    let mut put = |text: std::fmt::Arguments<'_>| {
        // Writing into a string cannot fail.
        let _ = writeln!(out, "{text}");
    };
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    for exponent in x0 as i32..=x1 as i32 {
        let at = x(10_f64.powi(exponent));
        put(format_args!(
            "<path d=\"M{at:.1} {TOP}V{bottom}\" stroke=\"#ddd\"/>\
             <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 18.0,
            10_f64.powi(exponent)
        ));
    }
    for exponent in y0 as i32..=y1 as i32 {
        let at = y(10_f64.powi(exponent));
        put(format_args!(
            "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"#ddd\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            at + 4.0,
            10_f64.powi(exponent)
        ));
    }
    put(format_args!(
        "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{across}</text>",
        f64::midpoint(LEFT, right),
        bottom + 42.0
    ));
    put(format_args!(
        "<text transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\">{up}</text>",
        f64::midpoint(TOP, bottom)
    ));
    for (number, line) in lines.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let points: Vec<String> = line
            .points
            .iter()
            .filter(|p| p.0 > 0.0 && p.1 > 0.0)
            .map(|p| format!("{:.1},{:.1}", x(p.0), y(p.1)))
            .collect();
        let at = TOP + 16.0 + number as f64 * 20.0;
        put(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <path d=\"M{} {}h20\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <text x=\"{}\" y=\"{}\">{}</text>",
            points.join(" "),
            right + 16.0,
            at - 4.0,
            right + 42.0,
            at,
            line.name
        ));
    }
    out.push_str("</svg>\n");
    out
}
