//! The listing of panes is what a snapshot shows of them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use support::{Server, block_on, on_each_release};

#[test]
fn a_listing_agrees_with_a_snapshot() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["split-window", "-d", "-t", "%0", "exec sleep 100000"]);
        server.set(["new-session", "-d", "-s", "b |c", "exec sleep 100000"]);
        server.set(["link-window", "-d", "-s", "@1", "-t", "main:5"]);
        server.set(["link-window", "-d", "-s", "@1", "-t", "main:3"]);
        let tmux = server.handle();
        let (listing, snapshot) =
            block_on(async { (tmux.list_panes().await.unwrap(), tmux.snapshot().await.unwrap()) });
        assert_eq!(listing.server, snapshot.server);
        let panes: Vec<_> = listing.panes.iter().map(|listed| listed.pane.clone()).collect();
        assert_eq!(panes, snapshot.panes);
        for listed in &listing.panes {
            let places = listed.places.iter().map(|place| {
                assert_eq!(snapshot.session(place.session_id).unwrap().name, place.session_name);
                let window = snapshot.window(listed.pane.window_id).unwrap();
                assert_eq!(window.name, place.window_name);
                (place.session_id, place.index, place.active)
            });
            let links = snapshot.links_of_window(listed.pane.window_id);
            let links = links.map(|link| (link.session_id, link.index, link.active));
            assert!(places.eq(links), "{listed:?}");
        }
        assert_eq!(listing.pane(panes[2].id).unwrap().places.len(), 3);
    });
}

#[test]
fn a_server_without_sessions_lists_nothing() {
    on_each_release(|release| {
        let server = Server::start_empty(release);
        let listing = block_on(server.handle().list_panes()).unwrap();
        assert!(listing.panes.is_empty() && listing.server.identity.pid == server.pid());
    });
}
