// Ctrl-C and the traces and counters of programs that run for ever. Internal to libwharf_client.so.
#pragma once

namespace wharf::client {

// From now on SIGINT and SIGTERM end this process as before, but what is written at its end (Process::AtExit) is
// written first. Only signals that have their default disposition are touched: a program's own handler stays, and one
// it installs later replaces ours. In forked children the signals do what they do by default. Starts a thread (if
// there can be none, nothing changes); works once a process.
void WriteFilesWhenInterrupted();

}  // namespace wharf::client
