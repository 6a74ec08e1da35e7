//! The tools, one file a subject: each has its table and, beside it, the bodies that the table names.
//!
//! A new tool is one entry and one function. A new file is one line in [`GROUPS`].

mod changes;
mod metadata;
mod panes;
mod search;
mod server;
mod topology;

pub(crate) use search::Found;

use super::call::{Context, Ownership};
use super::catalogue::Tool;
use crate::{StartOptions, Started};
use std::pin::Pin;

/// All tables, in the order in which tools are listed.
pub(crate) const GROUPS: &[&[Tool]] =
    &[server::TOOLS, metadata::TOOLS, topology::TOOLS, panes::TOOLS, changes::TOOLS, search::TOOLS];

/// Finds the private server or starts it; the marker read back tells whether it is ours.
pub(crate) fn prepare(context: &Context) -> Pin<Box<dyn Future<Output = Ownership> + Send + '_>> {
    Box::pin(async {
        match start(context).await {
            Ok(ownership) => ownership,
            Err(error) => {
                let _ = context.not_started.set(format!("could not start one: {error}"));
                Ownership::NotOurs
            }
        }
    })
}

async fn start(context: &Context) -> Result<Ownership, crate::Error> {
    let tmux = context.handle.get()?;
    let mut options = StartOptions { config: context.options.config.clone(), ..Default::default() };
    if let Some(program) = &context.options.tmux {
        options.tmux.clone_from(program);
    }
    match tmux.start_server(&options).await? {
        Started::Theirs => Ok(Ownership::NotOurs),
        Started::Ours => {
            let _ = context.owned.set(tmux.server().await?.identity);
            Ok(Ownership::Ours)
        }
    }
}
