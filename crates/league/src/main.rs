//! Arguments in, exit code out.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// A league allocates on one thread and frees on another all the time, which this allocator does
/// without locks (`docs/performance.md`).
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    league::cli::main()
}
