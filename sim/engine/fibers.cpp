#include "sim/engine/fibers.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <boost/context/fiber.hpp>
#include <utility>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/fetch.hpp"
#include "sim/base/units.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace simsgd {

namespace {

namespace context = boost::context;

constexpr std::size_t kPageBytes = 4096;

// A page that nobody may touch below each stack turns an overflow into a crash. It costs a memory map, of
// which Linux allows a process 65,530 (vm.max_map_count): beyond so many workers, whose stacks are no deeper
// than those of few, there is none.
constexpr int kMostGuarded = 16384;

// The tops of stacks begin at different cache lines of their pages: all at the same one would share the few
// sets of the caches that this line belongs to.
constexpr std::size_t kColours = 32;

std::size_t colour_bytes(std::size_t fiber) { return fiber % kColours * kLineBytes; }

// What a fiber needs first of its stack, from below the place where it waits.
constexpr std::size_t kFirst = 16 * kLineBytes, kBelow = 3 * kLineBytes;

// Boost asks for one; the arena owns the stacks.
struct NoAllocator {
  void deallocate(context::stack_context&) const noexcept {}
};

}  // namespace

struct Fibers::Impl {
  // Tells sanitizers that the stack changes.
  struct Stack {
    void* lowest = nullptr;
    std::size_t bytes = 0;
#if defined(__SANITIZE_ADDRESS__)
    void* fake = nullptr;
    void leave_for(const Stack& next) { __sanitizer_start_switch_fiber(&fake, next.lowest, next.bytes); }
    void back(Stack& from) const {
      const void* lowest_of_other = nullptr;
      std::size_t bytes_of_other = 0;
      __sanitizer_finish_switch_fiber(fake, &lowest_of_other, &bytes_of_other);
      if (from.bytes == 0) from.lowest = const_cast<void*>(lowest_of_other), from.bytes = bytes_of_other;
    }
#elif defined(__SANITIZE_THREAD__)
    void* thread = nullptr;
    void leave_for(const Stack& next) { __tsan_switch_to_fiber(next.thread, 0); }
    void back(Stack&) const {}
#else
    void leave_for(const Stack&) {}
    void back(Stack&) const {}
#endif
  };
  struct Slot {
    context::fiber fiber;
    std::function<void()> body;
    std::uint32_t wakes = 0;         // that came while it ran
    const char* waits_at = nullptr;  // on its stack
    bool waiting = false, over = false;
    Stack stack;
  };

  char* arena = nullptr;
  std::size_t arena_bytes = 0;
  std::vector<Slot> slots;
  std::vector<std::uint32_t> ready, turn;  // who runs next, and who runs in this turn
  Slot* running = nullptr;
  bool ending = false;
  context::fiber caller;
  Stack caller_stack;

  void resume(Slot& slot) {
    running = &slot;
    caller_stack.leave_for(slot.stack);
    slot.fiber = std::move(slot.fiber).resume();
    caller_stack.back(slot.stack);
    running = nullptr;
  }
};

Fibers::Fibers(int most) : impl_(std::make_unique<Impl>()) {
  if (most == 0) return;
  impl_->arena_bytes = static_cast<std::size_t>(most) * kStackBytes;
  void* const space = mmap(nullptr, impl_->arena_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (space == MAP_FAILED)
    throw RunError(fmt::format(
        "{} workers need {} of address space for their stacks, which the system does not give this process. Raise the limit (ulimit -v), or use fewer workers.",
        most, human_bytes(static_cast<double>(impl_->arena_bytes))));
  impl_->arena = static_cast<char*>(space);
  madvise(space, impl_->arena_bytes,
          MADV_NOHUGEPAGE);  // a huge page would be touched for four stacks at once
  impl_->slots.reserve(static_cast<std::size_t>(most));
}

Fibers::~Fibers() {
  impl_->ending = true;
  for (Impl::Slot& slot : impl_->slots)
    if (!slot.over) impl_->resume(slot);
  impl_->slots.clear();
  if (impl_->arena) munmap(impl_->arena, impl_->arena_bytes);
}

void Fibers::start(std::function<void()> body) {
  Impl& impl = *impl_;
  const std::size_t number = impl.slots.size();
  CHECK(number < impl.slots.capacity(), "more fibers than stacks");
  char* const lowest = impl.arena + number * kStackBytes;
  if (impl.slots.capacity() <= kMostGuarded) mprotect(lowest, kPageBytes, PROT_NONE);
  Impl::Slot& slot = impl.slots.emplace_back();
  slot.body = std::move(body);
  slot.stack.lowest = lowest + kPageBytes;
  slot.stack.bytes = kStackBytes - kPageBytes;
#if defined(__SANITIZE_THREAD__)
  slot.stack.thread = __tsan_create_fiber(0);
  if (!impl.caller_stack.thread) impl.caller_stack.thread = __tsan_get_current_fiber();
#endif
  context::stack_context stack;
  stack.sp = lowest + kStackBytes - colour_bytes(number);
  stack.size = slot.stack.bytes - colour_bytes(number);
  slot.fiber = context::fiber(std::allocator_arg, context::preallocated(stack.sp, stack.size, stack),
                              NoAllocator(), [&impl, &slot](context::fiber&& caller) {
                                slot.stack.back(impl.caller_stack);
                                impl.caller = std::move(caller);
                                try {
                                  if (!impl.ending) slot.body();
                                } catch (const Ended&) {
                                }
                                slot.body = nullptr;
                                slot.over = true;
                                slot.stack.leave_for(impl.caller_stack);
                                return std::move(impl.caller);
                              });
  impl.ready.push_back(static_cast<std::uint32_t>(number));
}

bool Fibers::any_ready() const { return !impl_->ready.empty(); }

void Fibers::run() {
  Impl& impl = *impl_;
  while (!impl.ready.empty()) {
    impl.turn.swap(impl.ready);
    for (const std::uint32_t number : impl.turn) impl.resume(impl.slots[number]);
    impl.turn.clear();
  }
}

void Fibers::block() {
  Impl& impl = *impl_;
  Impl::Slot& self = *impl.running;
  if (self.wakes > 0) {
    --self.wakes;
    return;
  }
  self.waiting = true;
  self.waits_at = static_cast<const char*>(__builtin_frame_address(0));
  self.stack.leave_for(impl.caller_stack);
  impl.caller = std::move(impl.caller).resume();
  self.stack.back(impl.caller_stack);
  if (impl.ending) throw Ended();
}

void Fibers::wake(int fiber) {
  Impl::Slot& slot = impl_->slots[static_cast<std::size_t>(fiber)];
  if (slot.waiting) {
    slot.waiting = false;
    fetch(slot.waits_at - kBelow, kFirst);
    impl_->ready.push_back(static_cast<std::uint32_t>(fiber));
  } else {
    ++slot.wakes;
  }
}

}  // namespace simsgd
