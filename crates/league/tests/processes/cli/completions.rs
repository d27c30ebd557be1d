//! `league completions`.

use crate::cli::league;

#[test]
fn every_shell_gets_a_script_that_knows_the_commands() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let seen = league(&["completions", shell], "");
        assert!(
            seen.starts_with("exit code 0\n--- out\n"),
            "{shell}: {seen}"
        );
        assert!(seen.ends_with("--- errors\n"), "{shell}: {seen}");
        for word in ["explain", "export", "completions", "strict", "dialect"] {
            assert!(seen.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn unknown_shell_is_wrong_use() {
    insta::assert_snapshot!(league(&["completions", "tcsh"], ""), @"
    exit code 2
    --- out
    --- errors
    error: invalid value 'tcsh' for '<SHELL>'
      [possible values: bash, elvish, fish, powershell, zsh]

      tip: a similar value exists: 'zsh'

    For more information, try '--help'.
    ");
}
