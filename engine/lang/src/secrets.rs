//! The files that no rule may read, whatever layer it comes from.
//!
//! Rules are checked against it when they are loaded, and readers check every path they
//! open. No rule and no configuration can lift it.

/// File names (in lower case) that hold secrets.
const NAMES: &[&str] = &[
    "account.json",
    "accounts.json",
    "auth.json",
    "auth.toml",
    "auth.yaml",
    "auth.yml",
    "credentials",
    "apikeys.json",
    "api_keys.json",
    "api-keys.json",
    "keyring.json",
    "google_accounts.json",
    "hosts.json",
    "hosts.yml",
    "hosts.yaml",
    "apps.json",
    "credentials.db",
    "application_default_credentials.json",
    "access_tokens.db",
    "cookies",
    "cookies.sqlite",
    "cookies-journal",
    "login data",
    "logins.json",
    "key3.db",
    "key4.db",
    "master.key",
    "wallet.dat",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".env",
    ".envrc",
    ".git-credentials",
    ".htpasswd",
    ".dockercfg",
    ".vault-token",
];

/// Endings (in lower case) of key files and stores.
const ENDINGS: &[&str] = &[
    ".key",
    ".pem",
    ".p8",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".kdbx",
    ".ppk",
    ".asc",
    ".gpg",
    ".keychain",
    ".keychain-db",
    ".keyring",
    ".token",
];

/// Beginnings (in lower case) of secret file names.
const BEGINNINGS: &[&str] = &[
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    ".env.",
    "env.",
    "service-account",
    "service_account",
];

/// Words that make a small settings file (JSON, YAML, TOML, text, or without an ending) secret.
const WORDS: &[&str] = &[
    "credential",
    "oauth",
    "secret",
    "token",
    "password",
    "passwd",
];

/// Words that make such a file secret only where they stand alone in its name: `mcp-auth.json`
/// holds a login, `authors.json` does not.
const WHOLE_WORDS: &[&str] = &["auth", "apikey", "apikeys", "cookie", "cookies"];

/// Names that are secret in every format there is, logs too.
const STEMS: &[&str] = &[
    "auth",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "jwt",
    "kubeconfig",
    "login",
    "logins",
];

/// Folders (in lower case) of which nothing is read.
const FOLDERS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
];

/// Whether a path names a file that holds keys, tokens or passwords. Either kind of slash
/// separates; upper and lower case are the same, since some file systems say so.
pub fn is_secret_path(path: &str) -> bool {
    let path = path.to_lowercase();
    let mut parts = path.split(['/', '\\']).filter(|p| !p.is_empty()).rev();
    let Some(file) = parts.next() else {
        return false;
    };
    // Some systems ignore what stands after a colon, and dots and spaces at the end.
    let file = file.split(':').next().unwrap_or(file);
    let file = file.trim_end_matches(['.', ' ']);
    NAMES.contains(&file)
        || ENDINGS.iter().any(|e| file.ends_with(e))
        || BEGINNINGS.iter().any(|b| file.starts_with(b))
        || (is_settings(file) && WORDS.iter().any(|w| file.contains(w)))
        || (!is_log(file) && has_word(file))
        || STEMS.contains(&stem(file))
        || FOLDERS.contains(&file)
        || parts.any(|folder| FOLDERS.contains(&folder))
}

/// Whether one of the whole words, or `api` followed by `key`, stands in a file name.
fn has_word(file: &str) -> bool {
    let words: Vec<&str> = file.split(['-', '_', '.', ' ']).collect();
    words.iter().any(|word| WHOLE_WORDS.contains(word))
        || words
            .windows(2)
            .any(|pair| pair[0] == "api" && matches!(pair[1], "key" | "keys"))
}

/// A file's name without its endings and the dots in front.
fn stem(file: &str) -> &str {
    let mut parts = file.split('.').filter(|part| !part.is_empty());
    parts.next().unwrap_or_default()
}

/// Whether it is of a kind that is called after what is said in it.
fn is_log(file: &str) -> bool {
    let mut endings = file.rsplit('.');
    endings.any(|ending| matches!(ending, "jsonl" | "ndjson" | "log" | "md"))
}

/// Session stores (JSON Lines, databases) may well be called after a secret word; a
/// settings file of that name holds one.
fn is_settings(file: &str) -> bool {
    match file.trim_start_matches('.').rsplit_once('.') {
        None => true,
        Some((_, ending)) => matches!(
            ending,
            "json"
                | "jsonc"
                | "json5"
                | "yaml"
                | "yml"
                | "toml"
                | "ini"
                | "conf"
                | "cfg"
                | "txt"
                | "enc"
                | "dat"
                | "bak"
                | "old"
                | "orig"
                | "save"
                | "swp"
                | "tmp"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_files_are_known() {
        for path in [
            "/h/.x/auth.json",
            "/h/.x/auth.jsonl",
            "/h/.x/my-auth.db",
            "/h/.x/.credentials.json.tmp",
            "/h/.x/service-account.json",
            "/h/.x/jwt.txt",
            "/h/.x/env.production",
            "/h/.x/kubeconfig",
            "/h/.x/login.json",
            "/h/.x/accounts.json",
            "/h/.x/AUTH.JSON",
            "C:\\Users\\a\\.x\\auth.json",
            "/h/.x/.credentials.json",
            "/h/.x/oauth_creds.json",
            "/h/.x/antigravity-oauth-token",
            "/h/.x/mcp-oauth-tokens.json",
            "/h/.x/sessions/12.ab.key",
            "/h/.ssh/config",
            "/h/.ssh/id_ed25519",
            "/h/.netrc",
            "/h/.env.local",
            "/h/.config/gh/hosts.yml",
            "/h/.x/auth.json ",
            "/h/.x/auth.json::$DATA",
            "secrets.yaml",
            "/h/.x/mcp-auth.json",
            "/h/.x/auth_profiles.json",
            "/h/.x/.auth",
            "/h/.x/api_key.json",
            "/h/.x/my-api-keys.yaml",
            "/h/.x/apikey.json",
            "/h/.x/apikey",
            "/h/.x/cookie.json",
            "/h/.x/cookies.json",
            "/h/.x/Cookies.db",
            "/h/.x/cookie.jsonl",
            "/h/.x/session-cookies.txt",
        ] {
            assert!(is_secret_path(path), "{path}");
        }
    }

    #[test]
    fn session_stores_are_not() {
        for path in [
            "/h/.x/projects/-w-token-service/0a.jsonl",
            "/h/.x/state_5.sqlite",
            "/h/.x/rollout-token-count.jsonl",
            "/h/.x/session_index.jsonl",
            "/h/.x/workspace.yaml",
            "/h/.x/ghost/a.json",
            "/h/.x/keyboard.json",
            "/h/.x/author.json",
            "/h/.x/authority-2.yaml",
            "/h/.x/sessions/auth-flow.jsonl",
            "/h/.x/auth/0a.json",
            "/h/.x/api.json",
            "/h/.x/capi_keys.json",
            "/h/.x/cookiecutter.json",
            "/h/gh/docker/tokens/a.jsonl",
            "",
        ] {
            assert!(!is_secret_path(path), "{path}");
        }
    }
}
