//! The layers of design.md, kept: a module imports only from layers below its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The layer of each module, as in the second section of the design.
const LAYERS: [(&str, u32); 13] = [
    ("imsg", 0),
    ("protocol", 1),
    ("exchange", 2),
    ("transport", 3),
    ("client", 4),
    ("model", 5),
    ("query", 6),
    ("capture", 6),
    ("live", 7),
    ("act", 7),
    ("mcp", 8),
    ("cli", 9),
    // Not part of the library proper: what the fuzz targets run.
    ("fuzz", 9),
];
/// Files outside the layers: they name all of them.
const ABOVE_ALL: [&str; 2] = ["lib.rs", "main.rs"];
/// The layer of what `lib.rs` exports again at the crate's root, and of the code above all.
const TOP: u32 = 9;
/// Layers under this one never panic.
const NEVER_PANICS_BELOW: u32 = 7;
/// Most lines of a file, its tests aside.
const LONGEST: usize = 600;

struct Source {
    /// From `src`, such as `imsg/header.rs`.
    path: String,
    module: String,
    layer: u32,
    /// Code without its tests and comments, with the numbers of its lines.
    code: Vec<(usize, String)>,
}

fn layer_of(module: &str) -> Option<u32> {
    LAYERS.iter().find(|(name, _)| *name == module).map(|(_, layer)| *layer)
}

/// The files of the library; those that hold nothing but its tests (`tests.rs`, `tests/`) left out.
fn sources() -> Vec<Source> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("tests") {
                folders.push(path);
            } else if !path.ends_with("tests.rs")
                && path.extension().is_some_and(|suffix| suffix == "rs")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    assert!(files.len() >= 30, "only {} files", files.len());
    files.iter().map(|file| source(&root, file)).collect()
}

fn source(root: &Path, file: &Path) -> Source {
    let path = file.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
    let module = path.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
    let layer = if ABOVE_ALL.contains(&path.as_str()) {
        TOP
    } else {
        layer_of(&module).unwrap_or_else(|| panic!("{path} is in no layer: see the table here"))
    };
    Source { path, module, layer, code: code(&std::fs::read_to_string(file).unwrap()) }
}

/// The lines of code: without `#[cfg(test)]` items, comments and string contents that look like
/// code. Enough for sources that rustfmt has laid out: an item ends at a `}` or `;` that stands as
/// far left as it began.
fn code(text: &str) -> Vec<(usize, String)> {
    let mut code = Vec::new();
    let mut lines = (1..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("#[cfg(test)]") {
            let indent = line.len() - trimmed.len();
            for (_, line) in lines.by_ref() {
                let depth = line.len() - line.trim_start().len();
                let ends = line.trim_end().ends_with(['}', ';']);
                if depth == indent && ends && !line.trim().is_empty() {
                    break;
                }
            }
        } else if !trimmed.starts_with("//") {
            code.push((number, line.split("// ").next().unwrap().to_owned()));
        }
    }
    code
}

/// The crate's modules that a line names: `crate::X`, `crate::{X, …}`, and in a file of a folder
/// `super::super::X`. What is exported at the root belongs to the layer that defines it.
fn named(source: &Source, line: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let depth = source.path.matches('/').count() + usize::from(!source.path.ends_with("mod.rs"));
    let root_from_here = "super::".repeat(depth);
    for prefix in ["crate::", root_from_here.as_str()] {
        if prefix.is_empty() {
            continue;
        }
        for (at, _) in line.match_indices(prefix) {
            let is_path_start = !line[..at].ends_with("::") && !line[..at].ends_with("$");
            let rest = &line[at + prefix.len()..];
            if !is_path_start || rest.starts_with("super::") {
                continue;
            }
            let names = match rest.strip_prefix('{') {
                Some(group) => group.split(['}', '{']).next().unwrap().split(',').collect(),
                None => vec![rest],
            };
            for name in names {
                let end = name.trim().find(|c: char| !c.is_alphanumeric() && c != '_');
                let name = name.trim();
                found.insert(name[..end.unwrap_or(name.len())].to_owned());
            }
        }
    }
    found.remove("");
    found
}

/// The layer that defines what `lib.rs` exports under this name, by its `pub use` lines.
fn layer_of_export(sources: &[Source], name: &str) -> Option<u32> {
    let lib = sources.iter().find(|source| source.path == "lib.rs").unwrap();
    let text: String = lib.code.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join(" ");
    text.split("pub use ").skip(1).find_map(|export| {
        let export = export.split(';').next().unwrap();
        let exported = export.split(|c: char| !c.is_alphanumeric() && c != '_');
        let module = export.trim_start_matches("crate::").split("::").next().unwrap();
        exported.into_iter().any(|part| part == name).then(|| layer_of(module)).flatten()
    })
}

#[test]
fn a_module_imports_only_from_layers_below_its_own_and_from_its_own_folder() {
    let sources = sources();
    let mut wrong = Vec::new();
    let mut imports = 0;
    for source in sources.iter().filter(|source| !ABOVE_ALL.contains(&source.path.as_str())) {
        for (number, line) in &source.code {
            for name in named(source, line) {
                imports += 1;
                if name == source.module {
                    continue;
                }
                match layer_of(&name).or_else(|| layer_of_export(&sources, &name)) {
                    Some(layer) if layer < source.layer => {}
                    Some(layer) => wrong.push(format!(
                        "src/{}:{number}: {name} is in layer {layer}, this in {}",
                        source.path, source.layer
                    )),
                    None => {
                        wrong.push(format!("src/{}:{number}: {name} is in no layer", source.path));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(imports >= 20, "only {imports} imports were seen: the reading of sources is broken");
}

#[test]
fn system_calls_are_made_in_the_transport_layer_only() {
    for source in sources() {
        let allowed = source.module == "transport";
        for (number, line) in &source.code {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            let calls = words.any(|word| ["nix", "libc", "rustix"].contains(&word));
            assert!(allowed || !calls, "src/{}:{number}: {line}", source.path);
        }
    }
}

#[test]
fn time_and_sockets_are_unknown_below_the_transport_layer() {
    for source in sources().iter().filter(|source| source.layer < 3) {
        for (number, line) in &source.code {
            for word in
                ["tokio", "std::net", "std::os::unix", "std::time", "std::fs", "std::process"]
            {
                assert!(!line.contains(word), "src/{}:{number}: {line}", source.path);
            }
        }
    }
}

#[test]
fn only_the_start_of_a_server_runs_a_program() {
    for source in sources().iter().filter(|source| source.layer < 8) {
        let runs = source.code.iter().any(|(_, line)| line.contains("process::Command"));
        assert_eq!(runs, source.path == "client/start.rs", "src/{}", source.path);
    }
}

#[test]
fn nothing_below_the_tools_panics() {
    let mut wrong = Vec::new();
    let words = [
        ".unwrap()",
        ".expect(",
        "panic!(",
        "unreachable!(",
        "todo!(",
        "unimplemented!(",
        " assert!(",
        " assert_eq!(",
        " assert_ne!(",
    ];
    for source in sources().iter().filter(|source| source.layer < NEVER_PANICS_BELOW) {
        for (number, line) in &source.code {
            if words.iter().any(|word| line.contains(word)) {
                wrong.push(format!("src/{}:{number}:{line}", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn no_file_is_longer_than_one_idea() {
    for source in sources() {
        let lines = source.code.iter().filter(|(_, line)| !line.trim().is_empty()).count();
        assert!(lines <= LONGEST, "src/{} has {lines} lines of code: split it", source.path);
    }
}

#[test]
fn the_reading_of_sources_sees_what_it_must() {
    let text = "use crate::exchange::A;\n// crate::mcp\n#[cfg(test)]\nmod tests {\n    use crate::cli;\n}\n\
                use crate::{client, imsg::B};\nlet x = super::super::model::C; // crate::act\n";
    let source =
        Source { path: "imsg/a.rs".into(), module: "imsg".into(), layer: 0, code: code(text) };
    let found: Vec<String> =
        source.code.iter().flat_map(|(_, line)| named(&source, line)).collect();
    assert_eq!(found, ["exchange", "client", "imsg", "model"]);
    let lines: Vec<usize> = source.code.iter().map(|(number, _)| *number).collect();
    assert_eq!(lines, [1, 7, 8]);
}
