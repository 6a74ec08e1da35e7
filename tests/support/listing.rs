//! A peer that lists a server which is not there.

use bytes::BytesMut;
use muxwire::imsg::Dialect;
use muxwire::protocol::{MAX_STREAM_DATA, MessageType, STDOUT, ServerMessage};

use super::Talk;

/// A server of one session with this many windows and panes in each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listing {
    pub(crate) windows: usize,
    pub(crate) panes: usize,
    /// What a field of a row is instead, by its name and the number of the row.
    pub(crate) instead: fn(&str, usize) -> Option<String>,
}

impl Listing {
    pub(crate) fn new(windows: usize, panes: usize) -> Self {
        Self { windows, panes, instead: |_, _| None }
    }

    /// Answers one command list of listings, as a server would that holds this.
    pub(crate) fn answer(&self, talk: &mut Talk) {
        let payload = talk.hear_until(MessageType::COMMAND).payload;
        let arguments: Vec<&str> = payload[4..]
            .split(|&byte| byte == 0)
            .map(|argument| std::str::from_utf8(argument).unwrap())
            .collect();
        let mut stdout = String::new();
        let formats: Vec<_> = arguments
            .iter()
            .filter(|it| it.starts_with(['s', 'w', 'p', 'c']) && it.contains("#{"))
            .collect();
        for format in formats {
            self.print(format, &mut stdout);
        }
        // The last command lists one command, in a format that begins with the nonce.
        let nonce = &arguments[arguments.len() - 3][..32];
        stdout.push_str(&format!("{nonce} 0 4711 1700000000 3.3a \u{1}$a\n"));
        let mut bytes = BytesMut::new();
        let mut send =
            |message: ServerMessage<'_>| message.encode(Dialect::Modern, &mut bytes).unwrap();
        send(ServerMessage::WriteOpen { stream: STDOUT, fd: 1, flags: 0, path: None });
        for data in stdout.as_bytes().chunks(MAX_STREAM_DATA) {
            send(ServerMessage::Write { stream: STDOUT, data });
        }
        send(ServerMessage::Exit { status: Some(0), text: None });
        talk.say_bytes(&bytes);
        talk.hear_out();
    }

    fn print(&self, format: &str, stdout: &mut String) {
        let (rows, panes) = match &format[..1] {
            "s" => (1, self.panes),
            "w" => (self.windows, 1),
            "p" => (self.windows * self.panes, self.panes),
            _ => (0, 1),
        };
        for row in 0..rows {
            let mut pieces = format.split("#{");
            stdout.push_str(pieces.next().unwrap());
            for piece in pieces {
                let (field, rest) = piece.split_once('}').unwrap();
                let field = field.trim_start_matches("q:");
                let value = (self.instead)(field, row).unwrap_or_else(|| match field {
                    "session_id" => "$0".into(),
                    "window_id" => format!("@{}", row / panes),
                    "pane_id" => format!("%{row}"),
                    "window_index" => row.to_string(),
                    "pane_index" => (row % panes).to_string(),
                    "pane_pid" => (1_000 + row).to_string(),
                    "session_windows" => self.windows.to_string(),
                    "window_panes" => self.panes.to_string(),
                    "window_active" => u32::from(row == 0).to_string(),
                    "pane_active" => u32::from(row % panes == 0).to_string(),
                    "pane_dead" | "pane_dead_status" | "pane_in_mode" | "alternate_on" => {
                        String::new()
                    }
                    "session_group" => String::new(),
                    _ => "1".into(),
                });
                stdout.push_str(&value);
                stdout.push_str(rest);
            }
            stdout.push('\n');
        }
    }
}
