//! A command list with options of its own.

use std::time::Duration;

use bytes::Bytes;

use super::drive::Drive;
use super::nonce;
use super::{Delivery, Error, ErrorKind, Output, Server, ServerIdentity, Stdin, Tmux, starting};
use crate::exchange::{Client, CommandExchange, End, Identify, Nonce, Proof, Reply};
use crate::protocol::CommandList;
use crate::transport::Caller;

/// One call with options of its own. Nothing happens until it is run.
#[derive(Debug)]
#[must_use = "nothing happens until the request is run"]
pub struct Request<'a> {
    tmux: &'a Tmux,
    groups: Vec<CommandList>,
    stdin: Stdin,
    deadline: Option<Duration>,
    reply_limit: usize,
    describe: Describe,
    expected: Option<ServerIdentity>,
    /// The first list says who answers before anything of it can fail.
    stamped: bool,
    /// The lists are known to start nothing, whatever their commands are called.
    starts_nothing: bool,
}

/// The number of the proof in front of the first list, which no list has.
const FRONT: usize = usize::MAX;

/// What the server is told of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Describe {
    /// The environment if a command may read it.
    AsNeeded,
    /// The environment.
    Environment,
    /// What tmux's own client tells: environment, terminal, default targets.
    CommandLine,
}

impl<'a> Request<'a> {
    pub(super) fn new(tmux: &'a Tmux, groups: Vec<CommandList>) -> Self {
        Self {
            tmux,
            groups,
            stdin: Stdin::None,
            deadline: tmux.deadline,
            reply_limit: tmux.reply_limit,
            describe: Describe::AsNeeded,
            expected: None,
            stamped: false,
            starts_nothing: false,
        }
    }

    pub(super) fn for_command_line(mut self) -> Self {
        self.describe = Describe::CommandLine;
        self
    }

    /// Offers standard input to commands that ask for it. Default: none.
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// How long the call may take from connecting to its end; `None` waits without limit.
    /// Default: the handle's.
    ///
    /// For a [command line](Tmux::command_line) that may start something, only until it was sent:
    /// its process would end with the call and could hurt the server by leaving.
    pub fn deadline(mut self, deadline: Option<Duration>) -> Self {
        self.deadline = deadline;
        self
    }

    /// Most bytes of stdout and stderr together. Default: the handle's.
    pub fn reply_limit(mut self, bytes: usize) -> Self {
        self.reply_limit = bytes;
        self
    }

    /// Sends the caller's environment even if no command is known to read it.
    pub fn with_environment(mut self) -> Self {
        self.describe = Describe::Environment;
        self
    }

    /// Refuses the answer of any other server, which a restart on the same socket brings. The
    /// commands have then run on that other server.
    pub fn expect_server(mut self, identity: ServerIdentity) -> Self {
        self.expected = Some(identity);
        self.stamped()
    }

    /// Makes [`Output::server`] known even when the list fails.
    pub(crate) fn stamped(mut self) -> Self {
        self.stamped = true;
        self
    }

    /// Says that the lists start nothing, though a command of theirs may (`if-shell -F` around
    /// readers).
    pub(crate) fn starts_nothing(mut self) -> Self {
        self.starts_nothing = true;
        self
    }

    /// Runs the one command list.
    ///
    /// # Errors
    ///
    /// [`Error`]; [`ErrorKind::ServerGone`] also when the server went down before the list was
    /// finished, since nobody knows then what it did.
    ///
    /// # Cancel safety
    ///
    /// Nothing happens until this is polled. Dropped, the call is given up as at its deadline: see
    /// [`Tmux::run`].
    ///
    /// # Wire
    ///
    /// `protocol-notes/04-commands.md`, note 4.4.
    pub async fn run(mut self) -> Result<Output, Error> {
        let commands = self.groups.iter().flat_map(|list| list.names()).count();
        let proof = self.add_proofs()?;
        let Reply { stdout, stderr, end } = self.drive().await?;
        let (stdout, front) = self.take_front(proof.nonce(), stdout)?;
        let (stdout, stamp) = match proof.take(&stdout) {
            Some((stdout, stamp)) => (stdout, Some(stamp)),
            None => (stdout, None),
        };
        let status = match (end, &stamp) {
            // A command may stop its list without a word. If it was the only one, that is all.
            (End::Exit { status: 0 }, None) if commands > 1 || !stdout.is_empty() => {
                return Err(stopped());
            }
            (End::Exit { status }, _) => status,
            (End::Shutdown, Some(_)) if self.kills_the_server().is_some() => 0,
            // 3.1 says no more than that it goes down. Behind other commands that may have cost
            // their output.
            (End::Shutdown, None) if self.kills_the_server() == Some(0) => 0,
            (End::Shutdown, _) => return Err(shut_down()),
        };
        let server = stamp.map(|stamp| self.tmux.inner.identify(stamp)).or(front);
        Ok(Output { stdout, stderr, status, server })
    }

    /// Runs all command lists; see [`Tmux::run_all`].
    ///
    /// # Errors
    ///
    /// [`Error`].
    ///
    /// # Cancel safety
    ///
    /// As [`run`](Self::run).
    pub async fn run_all(mut self) -> Result<Vec<Output>, Error> {
        let count = self.groups.len();
        let kills_the_server = self.kills_the_server().is_some();
        let nonce = self.add_proofs()?.nonce();
        // A mark behind each list, in a list of its own, tells where its output ends even if it
        // stops at an error.
        let lists = std::mem::take(&mut self.groups);
        self.groups = lists
            .into_iter()
            .enumerate()
            .flat_map(|(group, list)| [list, Proof::new(nonce, group).mark()])
            .collect();
        let Reply { stdout, stderr, end } = self.drive().await?;
        if end == End::Shutdown && !kills_the_server {
            return Err(shut_down());
        }
        let (mut rest, _) = self.take_front(nonce, stdout)?;
        let mut outputs = Vec::with_capacity(count);
        for group in 0..count {
            let proof = Proof::new(nonce, group);
            let Some((own, after)) = proof.split_at_mark(&rest) else {
                return Err(match end {
                    End::Shutdown => shut_down(),
                    End::Exit { .. } if stderr.is_empty() => Error::no_proof(),
                    End::Exit { .. } => dropped(&stderr),
                });
            };
            rest = after;
            let (stdout, server, status) = match proof.take(&own) {
                Some((stdout, stamp)) => (stdout, Some(self.tmux.inner.identify(stamp)), 0),
                None => (own, None, 1),
            };
            outputs.push(Output { stdout, stderr: Bytes::new(), status, server });
        }
        share_complaints(&stderr, end, &mut outputs);
        Ok(outputs)
    }

    /// Runs the command list and gives the reply as tmux's own client sees it: an answer that a
    /// server going down cut short is not an error here.
    ///
    /// # Errors
    ///
    /// [`Error`].
    ///
    /// # Cancel safety
    ///
    /// As [`run`](Self::run).
    pub async fn reply(mut self) -> Result<Reply, Error> {
        let proof = self.add_proofs()?;
        let mut reply = self.drive().await?;
        // A proof that is not there tells nothing here: some commands stop their list without a
        // word and with status 0 (`unbind-key -q` of a key that is not bound).
        if let Some((stdout, _)) = proof.take(&reply.stdout) {
            reply.stdout = stdout;
        }
        Ok(reply)
    }

    /// Where a command stands that makes the server go down. Without one a shutdown is somebody
    /// else's doing, and a proof in front of it proves little: a server that goes down wakes
    /// whatever waits (`wait-for`) and runs on to the end of the list.
    fn kills_the_server(&self) -> Option<usize> {
        self.groups
            .iter()
            .find_map(|list| list.names().position(|name| name.starts_with(b"kill-ser")))
    }

    /// Ends every list with a proof; gives that of the first.
    fn add_proofs(&mut self) -> Result<Proof, Error> {
        let nonce = Nonce::from_bits(nonce::fresh_bits()?);
        let alone = self.groups.len() == 1;
        if let (true, Some(first)) = (self.stamped, self.groups.first_mut()) {
            *first = CommandList::from(Proof::new(nonce, FRONT).command()).join(first);
        }
        for (group, list) in self.groups.iter_mut().enumerate() {
            let proof = Proof::new(nonce, group);
            let spacer = (alone && !prints_as_a_rule(list)).then(|| proof.spacer());
            let commands = [spacer, Some(proof.command())];
            list.check(&commands.iter().flatten().cloned().collect())?;
            *list = commands.into_iter().flatten().fold(std::mem::take(list), CommandList::then);
        }
        Ok(Proof::new(nonce, 0))
    }

    async fn drive(&mut self) -> Result<Reply, Error> {
        let inner = &self.tmux.inner;
        let may_start = !self.starts_nothing && self.groups.iter().any(starting::may_start);
        let described;
        let identify = match self.describe {
            Describe::AsNeeded if !may_start => &inner.bare,
            Describe::AsNeeded | Describe::Environment => &inner.full,
            Describe::CommandLine => {
                described = identify_command_line(&inner.caller)?;
                &described
            }
        };
        let offers_stdin = self.stdin.is_offered();
        let exchange =
            CommandExchange::new(identify, &self.groups, offers_stdin, self.reply_limit)?;
        let mut drive = Drive::new(exchange, identify.as_bytes().len(), may_start);
        let path = inner.endpoint.path();
        let result = match self.deadline {
            None => drive.run(path, &mut self.stdin).await,
            Some(limit) => {
                let run = tokio::time::timeout(limit, drive.run(path, &mut self.stdin));
                match (run.await, drive.delivery()) {
                    (Ok(result), _) => result,
                    // The process ends with its command line, and with it the connection.
                    (Err(_), Delivery::PossiblySent)
                        if may_start && self.describe == Describe::CommandLine =>
                    {
                        drive.run(path, &mut self.stdin).await
                    }
                    (Err(_), delivery) => Err(Error::deadline(limit, delivery)),
                }
            }
        };
        match &result {
            Ok(reply) => tracing::debug!(
                stdout = reply.stdout.len(),
                stderr = reply.stderr.len(),
                end = ?reply.end,
                "reply"
            ),
            Err(error) => tracing::debug!(kind = ?error.kind(), "failed"),
        }
        result
    }

    /// Takes the stamp off the front, if there is to be one; refuses what another server than the
    /// expected one said. Without a stamp no list was understood, and so none has run anywhere.
    fn take_front(&self, nonce: Nonce, stdout: Bytes) -> Result<(Bytes, Option<Server>), Error> {
        let taken = if self.stamped { Proof::new(nonce, FRONT).take(&stdout) } else { None };
        let Some((stdout, stamp)) = taken else { return Ok((stdout, None)) };
        let server = self.tmux.inner.identify(stamp);
        if self.expected.is_some_and(|expected| expected != server.identity) {
            return Err(Error::server_changed());
        }
        Ok((stdout, Some(server)))
    }
}

/// Identify as tmux's own client describes itself.
fn identify_command_line(caller: &Caller) -> Result<Identify, Error> {
    Ok(Identify::new(&Client {
        terminal: super::builder::text(caller.variable("TERM").unwrap_or_default()),
        tty: Caller::tty(),
        environment: super::builder::variables(caller, |_| true),
        ..super::builder::client(caller)
    })?)
}

/// Gives each failed output its complaint, and the status to the list that it belongs to.
fn share_complaints(stderr: &Bytes, end: End, outputs: &mut [Output]) {
    let failed = outputs.iter().filter(|output| output.status != 0).count();
    if failed == 0 {
        // A list that failed and ran on (a job's status, a file that was refused) had to wait,
        // which only the first may.
        if let (Some(first), End::Exit { status }) = (outputs.first_mut(), end) {
            first.status = status;
            first.stderr = stderr.clone();
        }
        return;
    }
    let lines: Vec<&[u8]> = stderr.split_inclusive(|&byte| byte == b'\n').collect();
    let told_apart = lines.len() == failed;
    for (index, output) in outputs.iter_mut().filter(|output| output.status != 0).enumerate() {
        output.stderr = match lines.get(index) {
            Some(line) if told_apart => stderr.slice_ref(line),
            _ => stderr.clone(),
        };
    }
}

/// Whether a list prints something as a rule. Being wrong costs one round trip and nothing else.
fn prints_as_a_rule(list: &CommandList) -> bool {
    let prints = |name: &[u8]| match name {
        b"list-buffers" | b"list-clients" => false,
        b"capture-pane" | b"display-message" => true,
        name => name.starts_with(b"list-") || name.starts_with(b"show-"),
    };
    list.names().any(prints)
}

/// A list was not understood, and the server read none of those behind it.
fn dropped(stderr: &[u8]) -> Error {
    let words = String::from_utf8_lossy(stderr.trim_ascii_end());
    let message = format!("tmux refused: {words}; the command lists behind that were not run");
    Error::new(ErrorKind::Refused, Delivery::PossiblySent, message)
}

/// The list ended well, by its status, and did not reach its end.
fn stopped() -> Error {
    let message = "tmux stopped the command list at a command that gave no reason (with -q, as a \
                   rule); the commands behind it were not run";
    Error::new(ErrorKind::Refused, Delivery::Observed, message)
}

fn shut_down() -> Error {
    Error::new(
        ErrorKind::ServerGone,
        Delivery::PossiblySent,
        "the server went down before the commands were finished",
    )
}
