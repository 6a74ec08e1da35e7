use super::*;

const KNOWN: &[&str] = &["list_panes", "send_keys", "kill_server"];

fn resolve(flags: &Flags, environment: &[(&str, &str)]) -> Result<Options, String> {
    let lookup = |name: &str| {
        environment.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
    };
    Options::resolve_among(flags, lookup, KNOWN).map_err(|error| error.to_string())
}

/// Flags from pairs, as a command line would give them.
fn flags(pairs: &[(&str, &str)]) -> Flags {
    let mut flags = Flags::default();
    for (name, value) in pairs {
        let value = Some(OsString::from(value));
        match *name {
            "-L" => flags.socket_name = value,
            "-S" => flags.socket_path = value,
            "--current" => flags.current = true,
            "--endpoint" => flags.endpoint = value,
            "--config" => flags.config = value,
            "--tmux" => flags.tmux = value,
            "--toolsets" => flags.toolsets = value,
            "--tools" => flags.tools = value,
            "--exclude-tools" => flags.exclude_tools = value,
            "--no-live" => flags.no_live = true,
            "--timeout" => flags.timeout = value,
            "--max-response-bytes" => flags.max_response_bytes = value,
            _ => panic!("{name}"),
        }
    }
    flags
}

type Pairs = &'static [(&'static str, &'static str)];

#[test]
fn nothing_given_means_the_defaults() {
    assert_eq!(
        resolve(&Flags::default(), &[]).unwrap(),
        Options {
            socket: Socket::Private,
            endpoint: "default".into(),
            config: None,
            tmux: None,
            selection: Selection { toolsets: None, added: vec![], excluded: vec![] },
            live: true,
            timeout: Duration::from_secs(5),
            max_response_bytes: 1_048_576,
        }
    );
}

#[test]
fn each_option_and_variable_is_read_and_a_flag_wins() {
    let from_flags = flags(&[
        ("-L", "work"),
        ("--endpoint", "a.B-c_9"),
        ("--config", "x.conf"),
        ("--tmux", "/bin/tmux"),
        ("--toolsets", "inspect, manage"),
        ("--tools", "kill_server"),
        ("--exclude-tools", "list_panes"),
        ("--no-live", ""),
        ("--timeout", "2.5"),
        ("--max-response-bytes", "5000"),
    ]);
    let variables: Pairs = &[
        ("LIBTMUX_SOCKET", "other"),
        ("LIBTMUX_TMUX_CONFIG", "y.conf"),
        ("LIBTMUX_TMUX_BIN", "/other/tmux"),
        ("LIBTMUX_TOOLSETS", "teardown"),
        ("LIBTMUX_TOOLS", "send_keys"),
        ("LIBTMUX_EXCLUDE_TOOLS", "kill_server"),
        ("LIBTMUX_MCP_LIVE", "1"),
    ];
    let options = resolve(&from_flags, variables).unwrap();
    assert_eq!(options.socket, Socket::Name("work".into()));
    assert_eq!(options.endpoint, "a.B-c_9");
    assert_eq!((options.config, options.tmux), (Some("x.conf".into()), Some("/bin/tmux".into())));
    assert_eq!(
        options.selection,
        Selection {
            toolsets: Some(vec![Toolset::Inspect, Toolset::Manage]),
            added: vec!["kill_server"],
            excluded: vec!["list_panes"],
        }
    );
    assert_eq!(
        (options.live, options.timeout, options.max_response_bytes),
        (false, Duration::from_millis(2500), 5000)
    );

    let options = resolve(&Flags::default(), variables).unwrap();
    assert_eq!(options.socket, Socket::Name("other".into()));
    assert_eq!((options.config, options.tmux), (Some("y.conf".into()), Some("/other/tmux".into())));
    assert_eq!(
        options.selection,
        Selection {
            toolsets: Some(vec![Toolset::Teardown]),
            added: vec!["send_keys"],
            excluded: vec!["kill_server"]
        }
    );
    assert!(options.live);
}

#[test]
fn sockets_are_chosen_one_way_only() {
    type Expected = Result<Socket, &'static str>;
    let path = || Socket::Path("/tmp/s".into());
    let cases: &[(Pairs, Pairs, Expected)] = &[
        (&[("-S", "/tmp/s")], &[], Ok(path())),
        (&[], &[("LIBTMUX_SOCKET_PATH", "/tmp/s")], Ok(path())),
        (&[], &[("LIBTMUX_SOCKET_PATH", ""), ("LIBTMUX_SOCKET", "")], Ok(Socket::Private)),
        (&[], &[("TMUX", "/t,1,0")], Ok(Socket::Private)),
        (&[("--current", "")], &[("TMUX", "/t,1,0")], Ok(Socket::Current("/t".into()))),
        (&[("--current", "")], &[], Err("--current needs TMUX, which names no socket")),
        (&[("--current", "")], &[("TMUX", "")], Err("--current needs TMUX, which names no socket")),
        (
            &[("--current", "")],
            &[("TMUX", ",1,0")],
            Err("--current needs TMUX, which names no socket"),
        ),
        (
            &[("-L", "a"), ("-S", "/tmp/s")],
            &[],
            Err("--socket-name and --socket-path exclude each other"),
        ),
        (
            &[("-S", "/s")],
            &[("LIBTMUX_SOCKET", "a")],
            Err("LIBTMUX_SOCKET and --socket-path exclude each other"),
        ),
        (
            &[("-L", "a"), ("--current", "")],
            &[("TMUX", "x")],
            Err("--socket-name and --current exclude each other"),
        ),
        (&[("-S", "tmp/s")], &[], Err("--socket-path must be an absolute path")),
        (&[("-S", "")], &[], Err("--socket-path must be an absolute path")),
        (&[("-L", "")], &[], Err("--socket-name must be a plain file name")),
        (&[("-L", "a/b")], &[], Err("--socket-name must be a plain file name")),
        (&[("-L", "..")], &[], Err("--socket-name must be a plain file name")),
    ];
    for (given, environment, expected) in cases {
        let socket = resolve(&flags(given), environment).map(|options| options.socket);
        assert_eq!(socket, expected.clone().map_err(str::to_owned), "{given:?} {environment:?}");
    }
}

#[test]
fn every_wrong_value_is_one_line_that_names_its_source() {
    let cases: &[(Pairs, Pairs, &str)] = &[
        (&[("--toolsets", "inspect,,manage")], &[], "--toolsets has an empty element"),
        (&[("--toolsets", ",")], &[], "--toolsets has an empty element"),
        (&[("--toolsets", "inspect,all")], &[], "--toolsets names an unknown toolset: \"all\""),
        (
            &[],
            &[("LIBTMUX_TOOLSETS", "Inspect")],
            "LIBTMUX_TOOLSETS names an unknown toolset: \"Inspect\"",
        ),
        (&[("--tools", "list_panes,x\ny")], &[], "--tools names an unknown tool: \"x\\ny\""),
        (&[], &[("LIBTMUX_TOOLS", "a")], "LIBTMUX_TOOLS names an unknown tool: \"a\""),
        (
            &[("--exclude-tools", "inspect")],
            &[],
            "--exclude-tools names an unknown tool: \"inspect\"",
        ),
        (
            &[],
            &[("LIBTMUX_EXCLUDE_TOOLS", "a,")],
            "LIBTMUX_EXCLUDE_TOOLS names an unknown tool: \"a\"",
        ),
        (&[], &[("LIBTMUX_SAFETY", "")], "LIBTMUX_SAFETY is no longer read; use LIBTMUX_TOOLSETS"),
        (
            &[],
            &[("LIBTMUX_MCP_TOOLS", "x")],
            "LIBTMUX_MCP_TOOLS is no longer read; use LIBTMUX_TOOLS",
        ),
        (
            &[],
            &[("LIBTMUX_SOCKET_NAME", "x")],
            "LIBTMUX_SOCKET_NAME is no longer read; use LIBTMUX_SOCKET",
        ),
        (&[], &[("LIBTMUX_MCP_LIVE", "no")], "LIBTMUX_MCP_LIVE must be 0 or 1"),
        (&[("--config", "")], &[], "--config must not be empty"),
    ];
    for (given, environment, expected) in cases {
        let error = resolve(&flags(given), environment).unwrap_err();
        assert_eq!(error, *expected);
        assert!(!error.contains('\n'));
    }
    let ranges: &[(&str, &[&str])] = &[
        ("--timeout", &["", "0", "-1", "601", "NaN", "inf", "five"]),
        (
            "--max-response-bytes",
            &["", "0", "4095", "+5000", "1e6", "67108865", "99999999999999999999"],
        ),
        ("--endpoint", &["", "-a", ".a", "a b", "ä", "a/b"]),
    ];
    for (name, values) in ranges {
        for value in *values {
            let error = resolve(&flags(&[(name, value)]), &[]).unwrap_err();
            assert!(error.starts_with(&format!("{name} must ")), "{error}");
        }
    }
    assert!(resolve(&flags(&[("--endpoint", &"a".repeat(128))]), &[]).is_ok());
    assert!(resolve(&flags(&[("--endpoint", &"a".repeat(129))]), &[]).is_err());
}

#[test]
fn tools_are_offered_by_set_then_added_then_excluded() {
    let offered = |given: Pairs, owned: bool| {
        let selection = resolve(&flags(given), &[]).unwrap().selection;
        let sets = [Toolset::Inspect, Toolset::Execute, Toolset::Teardown];
        let mut names = KNOWN.iter().zip(sets);
        names
            .by_ref()
            .filter(|(name, set)| selection.enables(name, *set, owned))
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
    };
    let none: Vec<&str> = Vec::new();
    assert_eq!(offered(&[], false), ["list_panes", "send_keys"]);
    assert_eq!(offered(&[], true), KNOWN);
    assert_eq!(offered(&[("--toolsets", "")], true), none);
    assert_eq!(offered(&[("--toolsets", "teardown")], false), ["kill_server"]);
    assert_eq!(offered(&[("--toolsets", ""), ("--tools", "send_keys")], false), ["send_keys"]);
    assert_eq!(offered(&[("--exclude-tools", "list_panes,send_keys")], false), none);
    assert_eq!(
        offered(&[("--tools", "kill_server"), ("--exclude-tools", "kill_server")], true),
        ["list_panes", "send_keys"]
    );
}
