use proptest::prelude::*;

use super::*;

/// What a stock server answers for a volume's `sizeLimit`.
const ANSWERED: &[(&str, &str)] = &[
    ("1", "1"),
    ("1000m", "1"),
    ("1000", "1k"),
    ("1024", "1024"),
    ("1Ki", "1Ki"),
    ("1024Ki", "1Mi"),
    ("1024Mi", "1Gi"),
    ("1.5Gi", "1536Mi"),
    ("0.5", "500m"),
    ("0.5Gi", "512Mi"),
    ("0.1", "100m"),
    ("100m", "100m"),
    ("1e3", "1e3"),
    ("1E3", "1E3"),
    ("1e6", "1e6"),
    ("1.5e3", "1500"),
    ("12e-3", "12e-3"),
    ("1E", "1E"),
    ("1k", "1k"),
    ("1000k", "1M"),
    ("1M", "1M"),
    ("1500M", "1500M"),
    ("1.5M", "1500k"),
    ("0", "0"),
    ("0Ki", "0"),
    ("00", "0"),
    ("007", "007"),
    ("+5", "+5"),
    ("0.0001", "100u"),
    ("0.0000000001", "1n"),
    ("1n", "1n"),
    ("1000n", "1u"),
    ("1u", "1u"),
    ("1.1Ki", "1126400m"),
    ("0.1Ki", "102400m"),
    ("0.3Ki", "307200m"),
    ("1.0001Gi", "1073849198182400u"),
    ("9223372036854775807", "9223372036854775807"),
    ("9223372036854775808", "9223372036854775808"),
    ("99999999999999999999", "99999999999999999999"),
    ("10Ei", "9223372036854775807"),
    ("1Ei", "1Ei"),
    ("8Ei", "9223372036854775807"),
    ("7Ei", "7Ei"),
    ("100E", "100E"),
    ("1e20", "100e18"),
    ("1e30", "1e30"),
    ("123456789012345678901234567890", "123456789012345678901234567890"),
    ("1.000", "1"),
    ("2048", "2048"),
    ("1536Ki", "1536Ki"),
    ("512", "512"),
    ("512Ki", "512Ki"),
    ("1000Ki", "1000Ki"),
    ("1e-3", "1e-3"),
    ("1e-9", "1e-9"),
    ("1e-12", "1e-9"),
    ("0.000001M", "1"),
    ("3e0", "3e0"),
    ("1.25", "1250m"),
    ("5e-1", "500e-3"),
    ("1023Mi", "1023Mi"),
    (".5", "500m"),
    ("5.", "5."),
    ("1.5k", "1500"),
    ("1500k", "1500k"),
    ("1100M", "1100M"),
    ("0.05k", "50"),
    ("1e2", "100"),
    ("100e1", "1e3"),
    ("12345e2", "1234500"),
    ("1Pi", "1Pi"),
    ("1024Pi", "1Ei"),
    ("1.0e3", "1e3"),
    ("1E1", "10"),
    (".", "0"),
    ("Gi", "0"),
    ("e3", "0"),
    ("0.5Ki", "512"),
    ("0.0001Ki", "102400u"),
    ("1.5", "1500m"),
    ("1500m", "1500m"),
    ("3000", "3k"),
    ("1e-10", "1e-9"),
    ("1.0000000001", "1000000001n"),
    ("999999999999999999999Ki", "9223372036854775807"),
    ("1.5Ki", "1536"),
    ("1000.5Ki", "1024512"),
    ("10.5m", "10500u"),
    ("1e19", "10e18"),
    ("12e18", "12e18"),
    ("-", "0"),
    ("+", "0"),
    ("1e03", "1e03"),
    ("1e+3", "1e+3"),
    (" 1 ", "1"),
];

#[test]
fn is_written_as_a_stock_server_writes_it() {
    for (given, answered) in ANSWERED {
        let written = canonical(given).unwrap().unwrap_or_else(|| (*given).to_owned());
        assert_eq!(written, *answered, "{given}");
    }
}

#[test]
fn refuses_as_a_stock_server_refuses() {
    use QuantityError::{Form, Suffix};
    for (given, error) in [
        ("", Form),
        ("1x", Form),
        ("1 Gi", Form),
        ("1.2.3", Form),
        ("--1", Suffix),
        ("1e", Suffix),
        ("1ee3", Suffix),
        ("1Kii", Suffix),
        ("1K", Suffix),
        ("0x10", Form),
        ("1_0", Form),
        ("NaN", Form),
        ("1E3k", Form),
    ] {
        assert_eq!(canonical(given), Err(error), "{given}");
    }
}

#[test]
fn compares_and_adds_amounts_not_texts() {
    let parse = |text: &str| text.parse::<Quantity>().unwrap();
    assert_eq!(parse("1Gi"), parse("1073741824"));
    assert!(parse("999m") < parse("1") && parse("1G") < parse("1Gi") && parse("-1") < parse("0"));
    for (left, right, sum) in
        [("500m", "0.5", "1"), ("512Mi", "512Mi", "1Gi"), ("0", "1Ki", "1Ki"), ("1", "-250m", "750m")]
    {
        assert_eq!(parse(left).plus(&parse(right)).to_string(), sum, "{left} + {right}");
    }
    for (text, value, milli) in
        [("1500m", 2, 1500), ("-1500m", -2, -1500), ("1n", 1, 1), ("2Ki", 2048, 2_048_000)]
    {
        assert_eq!((parse(text).value(), parse(text).milli_value()), (value, milli), "{text}");
    }
    assert_eq!(parse("10.5m").rounded_to_milli().to_string(), "11m");
}

proptest! {
    #[test]
    fn what_is_written_reads_back_the_same(number in -1_000_000_000_000_i64..1_000_000_000_000, suffix in "(n|u|m||k|M|G|Ki|Mi|Gi|e3|e-6)") {
        let quantity: Quantity = format!("{number}{suffix}").parse().unwrap();
        let again: Quantity = quantity.to_string().parse().unwrap();
        prop_assert_eq!(quantity, again);
        prop_assert_eq!(quantity.to_string(), again.to_string());
    }

    #[test]
    fn no_text_makes_it_panic(text in "[-+0-9.eEinumkKMGTPx ]{0,60}") {
        let _ = canonical(&text);
        let _ = text.parse::<Quantity>();
    }
}
