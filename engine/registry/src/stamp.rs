//! Times as the table writes them, `2026-11-30T13:55:50.140Z`, read and written without a
//! general parser: three a row, they would otherwise cost more than the rest of it. Any
//! other form goes through the general one, and the two agree (see the tests).

use axiowl_model::{Timestamp, TimestampError};
use std::fmt::Write as _;

const DAY: i64 = 86_400_000;

/// Reads an RFC 3339 time.
pub(crate) fn parse(text: &str) -> Result<Timestamp, TimestampError> {
    match parse_own(text.as_bytes()) {
        Some(millis) => Ok(Timestamp::from_millis(millis)),
        None => text.parse(),
    }
}

/// Appends a time.
pub(crate) fn write(out: &mut String, time: Timestamp) {
    let millis = time.as_millis();
    let (days, of_day) = (millis.div_euclid(DAY), millis.rem_euclid(DAY));
    let (year, month, day) = date_of(days);
    if !(0..=9999).contains(&year) {
        let _ = write!(out, "{time}");
        return;
    }
    let parts = [
        (year, 4, '-'),
        (month, 2, '-'),
        (day, 2, 'T'),
        (of_day / 3_600_000, 2, ':'),
        (of_day / 60_000 % 60, 2, ':'),
        (of_day / 1000 % 60, 2, '.'),
        (of_day % 1000, 3, 'Z'),
    ];
    for (value, width, then) in parts {
        for place in (0..width).rev() {
            let digit = value / 10_i64.pow(place) % 10;
            // A digit is below ten, so the cast keeps it.
            out.push((b'0' + digit as u8) as char);
        }
        out.push(then);
    }
}

/// Milliseconds of the exact form above, `None` for every other text.
fn parse_own(text: &[u8]) -> Option<i64> {
    let form = b"0000-00-00T00:00:00.000Z";
    let fits = text.len() == form.len()
        && text.iter().zip(form).all(|(c, f)| {
            if *f == b'0' {
                c.is_ascii_digit()
            } else {
                c == f
            }
        });
    if !fits {
        return None;
    }
    let number = |from: usize, to: usize| {
        text[from..to]
            .iter()
            .fold(0_i64, |sum, digit| sum * 10 + i64::from(digit - b'0'))
    };
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let (hour, minute, second) = (number(11, 13), number(14, 16), number(17, 19));
    // Leap seconds, the 30th of February and the like are for the general parser to judge.
    let plain = hour < 24 && minute < 60 && second < 60 && exists(year, month, day);
    plain.then(|| {
        let of_day = ((hour * 60 + minute) * 60 + second) * 1000 + number(20, 23);
        days_of(year, month, day) * DAY + of_day
    })
}

fn exists(year: i64, month: i64, day: i64) -> bool {
    (1..=12).contains(&month)
        && day >= 1
        && date_of(days_of(year, month, day)) == (year, month, day)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar, counted in eras of 400 years
/// that begin in March, so that the leap day is the last of its year.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date that many days from 1970-01-01.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day = days.rem_euclid(146_097);
    let of_era = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * of_era + of_era / 4 - of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = era * 400 + of_era + i64::from(month <= 2);
    (year, month, of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(time: Timestamp) -> String {
        let mut out = String::new();
        write(&mut out, time);
        out
    }

    proptest! {
        #[test]
        fn both_writers_and_both_readers_agree(millis in any::<i64>(), recent in 0..4_102_444_800_000_i64) {
            for time in [Timestamp::from_millis(millis), Timestamp::from_millis(recent)] {
                let text = written(time);
                prop_assert_eq!(&text, &time.to_string());
                prop_assert_eq!(parse(&text), Ok(time));
                prop_assert_eq!(text.parse::<Timestamp>(), Ok(time));
            }
        }

        #[test]
        fn the_own_reader_accepts_nothing_the_general_one_refuses(
            text in "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9]\\.[0-9]{3}Z"
        ) {
            prop_assert_eq!(parse(&text), text.parse::<Timestamp>());
        }
    }

    #[test]
    fn leap_days_and_the_turn_of_an_era() {
        for text in [
            "2024-02-29T23:59:59.999Z",
            "2000-02-29T00:00:00.000Z",
            "1900-03-01T00:00:00.000Z",
        ] {
            assert_eq!(written(parse(text).unwrap()), text);
        }
        assert!(parse("2023-02-29T00:00:00.000Z").is_err());
        assert!(parse("1900-02-29T00:00:00.000Z").is_err());
    }
}
