//! The protocol notes, the code and the tests refer to each other truthfully.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below `directory` whose name ends in `ending`, with its text.
fn files(directory: &Path, ending: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_str().unwrap().ends_with(ending) {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found
}

/// The numbers of the notes in each file.
fn notes() -> BTreeMap<String, BTreeSet<String>> {
    let files = files(&root().join("protocol-notes"), ".md");
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    files.iter().map(|(path, text)| (name(path), numbers(text))).collect()
}

/// The numbers that start a note: `**4.2 `.
fn numbers(text: &str) -> BTreeSet<String> {
    let bold = text.lines().filter_map(|line| line.strip_prefix("**"));
    let first_word = bold.filter_map(|line| line.split(' ').next());
    first_word.filter(|word| word.contains('.')).map(str::to_owned).collect()
}

#[test]
fn every_reference_to_a_note_leads_to_one() {
    let notes = notes();
    let mut references = 0;
    for (path, text) in files(&root().join("src"), ".rs") {
        // A reference may be broken over two lines of a comment.
        let text = text.replace("\n///", "").replace("\n//!", "").replace("\n    ///", "");
        for reference in text.split("protocol-notes/").skip(1) {
            let (file, rest) = reference.split_once('`').unwrap();
            let known = notes.get(file).unwrap_or_else(|| panic!("{path:?}: no {file}"));
            references += 1;
            let sentence = rest.split("\n").next().unwrap();
            let Some(list) = sentence.strip_prefix(", note").or(sentence.strip_prefix(": note"))
            else {
                continue;
            };
            for word in list.split(|c: char| !(c.is_ascii_digit() || c == '.')) {
                let number = word.trim_matches('.');
                if number.contains('.') {
                    assert!(known.contains(number), "{path:?}: no note {number} in {file}");
                }
            }
        }
    }
    assert!(references > 10, "only {references} references were found");
}

#[test]
fn every_note_is_in_the_file_of_its_number_and_names_tests_that_exist() {
    let sources: String = ["src", "tests"]
        .iter()
        .flat_map(|part| files(&root().join(part), ".rs"))
        .map(|(_, text)| text)
        .collect();
    for (path, text) in files(&root().join("protocol-notes"), ".md") {
        let name = path.file_name().unwrap().to_str().unwrap();
        for number in numbers(&text) {
            let chapter = number.split('.').next().unwrap();
            assert!(name.starts_with(&format!("0{chapter}-")), "{number} is in {name}");
        }
        for quoted in text.split('`').skip(1).step_by(2) {
            let quoted = quoted.replace('\n', " ");
            let is_path = quoted.starts_with("tests/") || quoted.starts_with("src/");
            let is_note = quoted.ends_with(".md") && !quoted.contains('/');
            if is_note {
                assert!(root().join("protocol-notes").join(&quoted).exists(), "no {quoted}");
            } else if is_path {
                assert!(root().join(&quoted).exists(), "{name}: there is no {quoted}");
            } else if quoted.matches('_').count() > 3 && !quoted.contains(' ') {
                let test = format!("fn {quoted}(");
                assert!(sources.contains(&test), "{name}: there is no test {quoted}");
            }
        }
    }
}
