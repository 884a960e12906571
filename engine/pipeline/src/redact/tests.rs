//! What must go, what must stay, and that nothing breaks it.

use super::*;
use proptest::prelude::*;

/// Made up, in the shapes that services use.
const SECRETS: [&str; 22] = [
    "sk-ant-api03-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA-AA",
    "sk-proj-9f8e7d6c5b4a3210fedcba98",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "github_pat_11ABCDEFG0123456789_abcdefghijklmnop",
    "xai-0123456789abcdefghijklmn",
    "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
    "ya29.a0AfH6SMBx0123456789",
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-123456789012-abcdefGHIJKL",
    "hf_abcdefghijklmnopqrst0123",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
    "glpat-0123456789abcdefXYZ",
    "gsk_0123456789abcdefghijklmnop",
    "npm_0123456789abcdefghijklmnop",
    "r8_0123456789abcdefghijklmnop",
    "sk_live_0123456789abcdef",
    "1//0g0123456789abcdefghijklmn",
    "xapp-1-A012345-abcdef",
    "sess-0123456789abcdefghijkl",
    "pplx-0123456789abcdefghijkl",
    "dop_v1_0123456789abcdefghijklmnop",
    "ASIAIOSFODNN7EXAMPLE",
];

#[test]
fn keys_and_tokens_go_wherever_they_stand() {
    for secret in SECRETS {
        for around in [
            "{}",
            "invalid key {}.",
            "{\"error\":{\"message\":\"Incorrect API key provided: {}\"}}",
            "GET /v1/models?key={}&alt=sse",
            "line one\nAuthorization: Bearer {}\nline three",
            "config at /home/dev/.x ({}), giving up",
            "\\u{a}{}\\u{a}",
        ] {
            let text = around.replace("{}", secret);
            let cleaned = redact(&text);
            assert!(!cleaned.contains(secret), "{text} -> {cleaned}");
            assert!(cleaned.contains(REDACTED), "{text} -> {cleaned}");
        }
    }
}

#[test]
fn values_behind_names_go_and_the_names_stay() {
    for (text, cleaned) in [
        ("OPENAI_API_KEY=abc", "OPENAI_API_KEY=[redacted]"),
        (
            "export MY_TOKEN='s3cr3t'; run",
            "export MY_TOKEN='[redacted]'; run",
        ),
        ("password: hunter", "password: [redacted]"),
        (
            "{\"access_token\":\"q1w2e3r4t5\"}",
            "{\"access_token\":\"[redacted]\"}",
        ),
        (
            "{\\\"clientSecret\\\": \\\"q1w2e3r4t5\\\"}",
            "{\\\"clientSecret\\\": \\\"[redacted]\\\"}",
        ),
        (
            "Authorization: Basic dXNlcjpwYXNz",
            "Authorization: Basic [redacted]",
        ),
        ("x-api-key: 0123456789abcdef", "x-api-key: [redacted]"),
        (
            "Cookie: sid=abc; other=d\nHost: x",
            "Cookie: [redacted]\nHost: x",
        ),
        ("set-cookie: q1w2e3r4t5y6", "set-cookie: [redacted]"),
        ("bearer 0123456789abcdef", "bearer [redacted]"),
        ("https://u:p@host/x", "https://[redacted]@host/x"),
        (
            "https://host/x?sig=abc&t=1",
            "https://host/x?sig=[redacted]&t=1",
        ),
        (
            "a -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- b",
            "a [redacted] b",
        ),
        (
            "cut -----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl",
            "cut [redacted]",
        ),
    ] {
        assert_eq!(redact(text), cleaned, "{text}");
    }
}

#[test]
fn what_people_need_to_read_stays() {
    for text in [
        "",
        "token: missing",
        "Invalid token, please run /login",
        "input_tokens: 1234, output_tokens=17",
        "Bearer authentication required",
        "the password was wrong",
        "sk-learn-something-very-long-name",
        "it has a desk-lamp and a task-runner-of-some-length",
        "01a22d6a-5558-7246-97f9-27ae53f7e871",
        "claude_code_cli:session:01a22d6a-5558-7246-97f9-27ae53f7e871",
        "/home/dev/.codex/sessions/2026/11/30/rollout-2026-11-30T10-00-00-01a2.jsonl at byte 417",
        "http://127.0.0.1:8080/v1/responses answered 500",
        "mail to me@example.org",
        "exit status: 1: thread 'main' panicked",
        "-----BEGIN CERTIFICATE-----",
        "monkey: 0123456789",
        "Kasse 结账 🛒 token: 结账",
    ] {
        assert!(
            matches!(redact(text), Cow::Borrowed(_)),
            "{text} -> {}",
            redact(text)
        );
    }
}

#[test]
fn the_values_a_program_was_given_go_wherever_it_prints_them() {
    let env = [
        ("ANTHROPIC_API_KEY", "mock-key"),
        ("OTHER_KEY", "mock-key-longer"),
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:1"),
        ("GH_TOKEN", "abc"),
        ("PATH", "/usr/bin:/bin"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let redactor = Redactor::of_env(&env);
    let said =
        "no answer from http://127.0.0.1:1 for mock-key and mock-key-longer in /usr/bin:/bin abc";
    assert_eq!(
        redactor.clean(said.into()),
        "no answer from http://127.0.0.1:1 for [redacted] and [redacted] in /usr/bin:/bin abc"
    );
    let evidence = redactor.evidence(Evidence {
        path: Some("/x/mock-key.jsonl".into()),
        ..Evidence::new("exit_code", "1: mock-key")
    });
    assert_eq!(evidence.detail, "1: [redacted]");
    assert_eq!(evidence.path.as_deref(), Some("/x/[redacted].jsonl"));
    assert_eq!(format!("{redactor:?}"), "Redactor(2 values)");
}

proptest! {
    #[test]
    fn any_text_is_survived_and_twice_is_once(text in any::<String>(), pick in 0..SECRETS.len()) {
        for text in [text.clone(), format!("{text}\u{e9} {} {text}", SECRETS[pick]), format!("key={text}")] {
            let once = redact(&text).into_owned();
            prop_assert_eq!(redact(&once), &*once);
        }
    }

    #[test]
    fn a_secret_between_any_two_words_goes(
        before in "[ -~]{0,30}", after in "[ -~]{0,30}", pick in 0..SECRETS.len()
    ) {
        let text = format!("{before} {} {after}", SECRETS[pick]);
        prop_assert!(!redact(&text).contains(SECRETS[pick]), "{}", text);
    }
}
