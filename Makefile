# Two commands do everything on a fresh machine:
#   make demo   builds muxwire and shows its main job on a private tmux server
#   make test   passes the tests, on every tmux release that can be had
# Both install tmux by the system's package manager if it is missing, and say so.

CARGO ?= cargo
MATRIX := target/tmux-matrix

.PHONY: demo test matrix tmux bench fuzz ci

demo: tmux
	$(CARGO) build --release
	@$(CARGO) run --release --quiet -- demo
	@$(CARGO) run --release --quiet -- bench --private

# In a folder of its own, which is looked through for servers and sockets afterwards. Another user must get in:
# a test tries what is forbidden to one.
test: tmux matrix
	@dir=$$(mktemp -d) && chmod 755 $$dir && \
	TMPDIR=$$dir $(CARGO) test --all-features && tests/tools/check-leftovers $$dir; \
	status=$$?; rm -rf $$dir; exit $$status

# The machine's own tmux.
tmux:
	@tests/tools/install-tmux

# Other releases beside it; one that cannot be reached is said and left out.
matrix:
	@tests/tools/tmux-matrix $(MATRIX) || echo "make: no other tmux release could be had; going on with the machine's own" >&2

bench: tmux
	$(CARGO) bench --all-features

# Each target for a while, on from where it stopped; needs `cargo install cargo-fuzz`.
FUZZ_SECONDS ?= 300
fuzz:
	for target in frame_decode message_decode exchange rows criteria differ cursors uris; do \
	  mkdir -p fuzz/corpus/$$target && $(CARGO) fuzz run -s none $$target fuzz/corpus/$$target fuzz/seeds/$$target -- \
	    -max_total_time=$(FUZZ_SECONDS) || exit 1; \
	done

ci:
	bash .ci/run
