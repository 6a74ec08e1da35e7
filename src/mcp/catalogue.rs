//! The table of tools: what each is called, takes, promises and runs.

use super::answer::Answer;
use super::arguments::Arguments;
use super::call::Call;
use super::failure::Failure;
use super::schema::Schema;
use super::tools;
use rmcp::model::ToolAnnotations;
use std::pin::Pin;
use std::sync::Arc;

/// The sets in which tools are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Toolset {
    /// Looks, changes nothing.
    Inspect,
    /// Rearranges, loses nothing.
    Manage,
    /// Starts things and types.
    Execute,
    /// Ends things.
    Teardown,
}

impl Toolset {
    /// The set of a name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "inspect" => Some(Self::Inspect),
            "manage" => Some(Self::Manage),
            "execute" => Some(Self::Execute),
            "teardown" => Some(Self::Teardown),
            _ => None,
        }
    }
}

/// What a tool does to the world, from which its annotations follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "the tools so far only read")]
pub(crate) enum Effect {
    /// Reads only.
    Reads,
    /// Changes tmux's own state; once more changes nothing further.
    Sets,
    /// Changes tmux's own state each time.
    Changes,
    /// Types into panes or runs programs.
    Runs,
    /// Ends things that cannot be brought back.
    Destroys,
}

impl Effect {
    fn annotations(self) -> ToolAnnotations {
        let (reads, destroys, idempotent, open) = match self {
            Self::Reads => (true, false, true, false),
            Self::Sets => (false, false, true, false),
            Self::Changes => (false, false, false, false),
            Self::Runs => (false, true, false, true),
            Self::Destroys => (false, true, false, false),
        };
        ToolAnnotations::from_raw(None, Some(reads), Some(destroys), Some(idempotent), Some(open))
    }
}

/// Who ends a call that takes long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "no tool so far bounds itself")]
pub(crate) enum Bound {
    /// The request deadline.
    Deadline,
    /// The tool itself, by its own `timeout`. Not allowed in batches.
    Itself,
}

/// A tool body at work. Dropping it cancels the call, so bodies hold nothing that a drop would not release.
pub(crate) type Running<'a> = Pin<Box<dyn Future<Output = Result<Answer, Failure>> + Send + 'a>>;

/// A tool body: parse, one or two library calls, view.
pub(crate) type Run = for<'a> fn(&'a Call, Arguments) -> Running<'a>;

/// One tool.
#[derive(Debug)]
pub(crate) struct Tool {
    /// Its name.
    pub(crate) name: &'static str,
    /// The set in which it is offered.
    pub(crate) toolset: Toolset,
    /// For people.
    pub(crate) title: &'static str,
    /// For the agent, in few words.
    pub(crate) description: &'static str,
    /// What it does to the world.
    pub(crate) effect: Effect,
    /// Who ends it.
    pub(crate) bound: Bound,
    /// What it takes.
    pub(crate) input: fn() -> Schema,
    /// What it answers; only where the contract wants it published.
    pub(crate) output: Option<fn() -> Schema>,
    /// Its body.
    pub(crate) run: Run,
}

impl Tool {
    /// Whether it changes nothing.
    pub(crate) fn reads_only(&self) -> bool {
        self.effect == Effect::Reads
    }
}

/// A tool with its schema made.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The tool.
    pub(crate) tool: &'static Tool,
    /// Its input schema.
    pub(crate) input: Schema,
}

/// All tools, in the order in which they are listed.
#[derive(Debug)]
pub(crate) struct Catalogue {
    entries: Vec<Entry>,
}

impl Catalogue {
    /// The tools of this server.
    pub(crate) fn standard() -> Self {
        Self::of(tools::GROUPS)
    }

    /// The tools of some groups.
    pub(crate) fn of(groups: &[&'static [Tool]]) -> Self {
        let tools = groups.iter().flat_map(|group| group.iter());
        Self { entries: tools.map(|tool| Entry { tool, input: (tool.input)() }).collect() }
    }

    /// The tool of a name.
    pub(crate) fn find(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.tool.name == name)
    }

    /// Every tool.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }
}

impl Entry {
    /// The tool as `tools/list` shows it.
    pub(crate) fn publish(&self) -> rmcp::model::Tool {
        let tool = self.tool;
        let input = Arc::new(self.input.publish());
        let published = rmcp::model::Tool::new(tool.name, tool.description, input)
            .with_title(tool.title)
            .with_annotations(tool.effect.annotations());
        match tool.output {
            Some(output) => published.with_raw_output_schema(Arc::new(output().publish())),
            None => published,
        }
    }
}

/// The names of all tools.
pub(crate) fn tool_names() -> Vec<&'static str> {
    tools::GROUPS.iter().flat_map(|group| group.iter()).map(|tool| tool.name).collect()
}

#[cfg(test)]
mod tests {
    use super::super::schema::tests::breaches;
    use super::*;
    use serde_json::{Value, json};

    fn published() -> Vec<Value> {
        Catalogue::standard()
            .iter()
            .map(|entry| serde_json::to_value(entry.publish()).unwrap())
            .collect()
    }

    #[test]
    fn every_published_schema_keeps_the_rules_of_agent_hosts() {
        for tool in published() {
            for key in ["inputSchema", "outputSchema"] {
                let Some(schema) = tool.get(key) else {
                    continue;
                };
                assert_eq!(breaches(schema, ""), Vec::<String>::new(), "{} {key}", tool["name"]);
                assert!(jsonschema::meta::is_valid(schema), "{} {key}", tool["name"]);
            }
        }
    }

    #[test]
    fn only_three_tools_publish_what_they_answer_and_it_fits_a_failure_too() {
        for tool in published() {
            let name = tool["name"].as_str().unwrap();
            let expected = matches!(name, "tmux_snapshot" | "snapshot_pane" | "capture_since");
            assert_eq!(tool.get("outputSchema").is_some(), expected, "{name}");
            if expected {
                let failure = Failure::invalid("x").body(true);
                assert!(jsonschema::is_valid(&tool["outputSchema"], &failure), "{name}");
            }
        }
    }

    #[test]
    fn every_tool_is_named_titled_and_described_in_few_words() {
        let tools = published();
        let mut names: Vec<&str> =
            tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        for tool in &tools {
            assert!(!tool["title"].as_str().unwrap().is_empty());
            let description = tool["description"].as_str().unwrap();
            assert!(
                (10..=400).contains(&description.len()),
                "{} {}",
                tool["name"],
                description.len()
            );
        }
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "a name is used twice");
        assert!(names.iter().all(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')));
    }

    #[test]
    fn the_list_of_all_tools_stays_small() {
        let size = serde_json::to_vec(&published()).unwrap().len();
        assert!(size <= 30_000, "{size}");
        // The budget is for some 45 tools: it must leave enough for those that are not there yet.
        let missing = 45_usize.saturating_sub(published().len());
        assert!(size + 550 * missing <= 30_000, "{size} and {missing} to come");
    }

    #[test]
    fn annotations_follow_the_effect_and_the_effect_follows_the_set() {
        for entry in Catalogue::standard().iter() {
            let (tool, published) = (entry.tool, serde_json::to_value(entry.publish()).unwrap());
            assert_eq!(tool.toolset == Toolset::Inspect, tool.reads_only(), "{}", tool.name);
            assert_eq!(
                tool.toolset == Toolset::Teardown,
                tool.effect == Effect::Destroys,
                "{}",
                tool.name
            );
            let hints = &published["annotations"];
            if tool.reads_only() {
                assert_eq!(
                    *hints,
                    json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true,
                        "openWorldHint": false})
                );
            } else {
                assert_eq!(hints["readOnlyHint"], json!(false));
            }
        }
    }
}
