#!/usr/bin/env bash
# Fuzzes the gateway and the reader of captures for SECONDS (3600): half of the time two gateways with random hosts
# against the model of each host, the other half the fuzz targets. These run under cargo-fuzz if it and nightly Rust are
# installed and there are ten minutes or more, else with inputs made from the corpus. Prints the seed or the file of a
# failure.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-3600}

CELLWAY_FUZZ_SECONDS=$((seconds / 2)) cargo test --package cellway-gateway --locked --test model -- --nocapture

if [ "$seconds" -ge 600 ] && cargo +nightly fuzz --version >/dev/null 2>&1; then
	targets=$(cd fuzz/fuzz_targets && printf '%s\n' *.rs | sed 's/\.rs$//')
	each=$((seconds / 2 / $(wc -l <<<"$targets")))
	for target in $targets; do
		echo "$target: $each s"
		# New inputs go to a folder that is not part of the repository.
		mkdir -p "fuzz/target/found/$target"
		cargo +nightly fuzz run "$target" "fuzz/target/found/$target" "fuzz/corpus/$target" -- -max_total_time="$each"
	done
else
	for package in cellway-gateway cellway-gatewayd cellway-capture; do
		CELLWAY_FUZZ_SECONDS=$((seconds / 6)) cargo test --package "$package" --locked --test corpus \
			others_for_as_long_as_is_wanted -- --nocapture
	done
fi
