// The policies of our processes that read what strangers send. docs/security.md has them as a table, made by trying.
#pragma once

#include "wharf/base/sandbox/sandbox.h"

namespace wharf {

// A sanitizer's runtime takes address space by the terabyte, and reads and writes files when it reports: policies are
// weaker with one.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// What a worker may have instead of its policy's descriptors while it passes connections on, if it takes them down
// (limits.h) when it has a client of its own. The kernel passes a descriptor on only if those of the same user that are
// on their way are no more than the sender may have open. A session that was taken over can have as many on their way,
// to itself, as it may have open and one message's 253 besides: it would keep others from passing any that may have no
// more than it.
inline constexpr uint64_t kArrivingDescriptors = 4096;

// A worker whose device is the software device: computes, with threads and code that it compiles, and answers on the
// descriptors that it has or is passed. It opens no path, makes no process and no connection. What libraries try
// without harm is refused; anything else ends the process.
SandboxPolicy SoftWorkerPolicy();

// A worker that runs models on the processor: the same, but memory may be writable and executable at once, as oneDNN
// wants it.
SandboxPolicy ModelWorkerPolicy();

// A process that compiles for such workers: the same, but it makes no memory executable, for it executes nothing that
// it compiles, and its address space is limited.
SandboxPolicy CompilerPolicy();

// The keeper of files (base/stored/keeper.h): answers on the sockets that it is passed, and opens, writes, renames and
// removes files. Which ones, its file system says (namespaces.h). It makes no threads, no processes and no
// connections.
SandboxPolicy KeeperPolicy();

// A worker that uses a vendor's driver, which opens device nodes and files when it likes. It executes no program and
// makes no sockets but Unix ones; gaining privileges, tracing, name spaces, mounts, typing into a terminal, kernel
// modules, eBPF, key rings and their like are refused.
SandboxPolicy GpuWorkerPolicy();

// A server that uses a vendor's driver in the process that all its clients share: as GpuWorkerPolicy, and its
// descriptors are as many as its user may have.
SandboxPolicy GpuServerPolicy();

// One that makes TCP connections to others, too: as GpuServerPolicy, and those. Whom a socket is connected to a filter
// does not see, so it can connect to Unix sockets, too.
SandboxPolicy GpuPeerPolicy();

// A process that needs the network and a program's files: as GpuWorkerPolicy, and may make any socket.
SandboxPolicy NetworkedPolicy();

// A server that itself reads what strangers send, and runs models on the processor: as ModelWorkerPolicy, and it
// accepts connections at sockets that it has, and waits for signals. Its descriptors are as many as its user may have.
SandboxPolicy AcceptingServerPolicy();

// The same, and it makes TCP connections to others.
SandboxPolicy PeerServerPolicy();

// What stands between one client and a server (ar/relay): as CompilerPolicy, with less memory, few descriptors, and it
// writes to no file.
SandboxPolicy RelayPolicy();

}  // namespace wharf
