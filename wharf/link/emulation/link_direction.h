// One direction of a LinkProxy: a thread that takes bytes from the sources of all connections, sends them through one
// LinkModel and delivers them to the sinks when their time has come. Internal to the room.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "wharf/link/emulation/emulator.h"
#include "wharf/link/socket.h"

namespace wharf::link {

// A client's connection and ours to the target. Closed when both directions have let go of it.
struct ProxyConnection {
  UniqueFd client, target;
};

class LinkDirection {
 public:
  enum class Direction { kUp, kDown };  // up: from client to target

  LinkDirection(Direction direction, LinkProfile profile, TimePoint start, UniqueFd wake);
  ~LinkDirection();  // stops and joins

  // Thread-safe.
  void Add(std::shared_ptr<ProxyConnection> connection);
  void Restart(TimePoint start);
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  // One connection's share of this direction.
  struct Flow {
    std::shared_ptr<ProxyConnection> connection;
    int source = -1, sink = -1;
    bool source_ended = false;  // nothing more is read
    bool sink_blocked = false;
    bool end_delivered = false;  // the sink's end follows what is in `late`
    bool done = false;
    std::deque<std::vector<std::byte>> late;  // delivered, but the sink does not take it
    size_t late_bytes = 0, late_offset = 0;
    short ready = 0;  // of the source
  };
  struct Packet {
    std::shared_ptr<Flow> flow;
    std::vector<std::byte> bytes;  // empty: the source ended
    TimePoint delivered;
  };
  struct Departure {
    TimePoint sent;
    size_t size;
  };

  void Run();
  bool TakeOrders();
  void Deliver(TimePoint now);
  void PushLate(Flow& flow);
  void Abort(Flow& flow);
  size_t Room(TimePoint now);
  void ReadSources();
  void ReadSource(const std::shared_ptr<Flow>& flow, size_t room);
  bool WantsToRead(const Flow& flow) const;
  void Wait();

  const Direction direction_;
  const size_t capacity_;
  const UniqueFd wake_;
  std::mutex mutex_;
  bool stop_ = false;
  std::vector<std::shared_ptr<ProxyConnection>> arrivals_;
  std::optional<TimePoint> restart_;

  // Of the thread alone.
  LinkModel model_;
  std::vector<std::shared_ptr<Flow>> flows_;
  std::deque<Packet> packets_;
  std::deque<Departure> departures_;
  size_t queued_bytes_ = 0;
  size_t next_flow_ = 0;  // who may read first, in turn
  std::vector<pollfd> polled_;

  std::atomic<uint64_t> bytes_{0};
  std::thread thread_;
};

}  // namespace wharf::link
