// Crashes: what a worker loses, by hand. Every step computes 1 s; nothing else takes time.
#include <doctest/doctest.h>

#include "tests/support/jobs.hpp"

namespace simsgd::test::engine_outages {

namespace {

Job job_of_steps(std::uint64_t steps, std::function<void(Worker&)> body) {
  Job job = scripted_job(star(2, 0, 1e30), std::move(body));
  job.workload.layers.front().forward_s = 0.25;
  job.workload.layers.front().backward_s = 0.75;
  job.stop.steps = steps;
  job.failures.restart_s = 10;
  return job;
}

void train_together(Worker& worker) {
  while (worker.next_step()) {
    worker.compute().gradient();
    worker.collectives().run(Barrier());
  }
}

struct Seen {
  double end_s, waited_s, straggled_s, crashes, lost_steps, lost_work_s, downtime_s;
};

Seen run(const std::function<Job()>& make) {
  const RunRecord record = simulate_job(make());
  const auto of = [&](int rank, Activity activity) {
    return spent_s(record.workers[static_cast<std::size_t>(rank)], activity);
  };
  return {record.end_s,
          of(1, Activity::wait),
          of(0, Activity::straggle),
          record.extra.at("crashes"),
          record.extra.at("lost_steps"),
          record.extra.at("lost_work_s"),
          record.extra.at("downtime_s")};
}

}  // namespace

TEST_CASE("a crash loses the gradient in progress; the others wait for the restart") {
  // Rank 0 crashes at 2.5 s, half way through step 3, is back at 12.5 s, ends the step at 13.5 s.
  const Seen seen = run([] {
    Job job = job_of_steps(4, train_together);
    job.failures.crashes = {{0, 2.5}};
    return job;
  });
  CHECK(seen.end_s == doctest::Approx(14.5).epsilon(1e-12));
  CHECK(seen.waited_s == doctest::Approx(10.5).epsilon(1e-12));
  CHECK(seen.straggled_s == doctest::Approx(10.5).epsilon(1e-12));
  CHECK(seen.crashes == 1);
  CHECK(seen.lost_steps == 0);
  CHECK(seen.lost_work_s == doctest::Approx(0.5).epsilon(1e-12));
  CHECK(seen.downtime_s == doctest::Approx(10).epsilon(1e-12));
}

TEST_CASE("with rare checkpoints the steps since the last one are computed again") {
  // Checkpoints after every 5 steps: the two steps before the crash at 2.5 s are lost, 12.5 + 2 + 1 = 15.5 s.
  const Seen seen = run([] {
    Job job = job_of_steps(4, train_together);
    job.failures.crashes = {{0, 2.5}};
    job.failures.checkpoint_every = 5;
    return job;
  });
  CHECK(seen.end_s == doctest::Approx(16.5).epsilon(1e-12));
  CHECK(seen.lost_steps == 2);
  CHECK(seen.lost_work_s == doctest::Approx(2.5).epsilon(1e-12));
}

TEST_CASE("computing of every kind is lost, and done again") {
  // Steps of 1 s gradient and 1 s of factors. The crash at 4.5 s loses two steps and half a gradient: back at
  // 14.5 s, through with them at 18.5 s, with step 3 at 20.5 s.
  const Seen seen = run([] {
    Job job = job_of_steps(4, [](Worker& worker) {
      while (worker.next_step()) {
        worker.compute().gradient();
        worker.compute().spend(Activity::factor, 1);
      }
    });
    job.failures.crashes = {{0, 4.5}};
    job.failures.checkpoint_every = 1000;
    return job;
  });
  CHECK(seen.end_s == doctest::Approx(22.5).epsilon(1e-12));
  CHECK(seen.lost_work_s == doctest::Approx(4.5).epsilon(1e-12));
}

TEST_CASE("a worker that crashes again while it recomputes begins once more") {
  // Back at 12.5 s, it would be through with its two steps at 14.5 s; the crash at 13.5 s: 23.5 + 2 + 1 s.
  const Seen seen = run([] {
    Job job = job_of_steps(4, train_together);
    job.failures.crashes = {{0, 2.5}, {0, 13.5}};
    job.failures.checkpoint_every = 5;
    return job;
  });
  CHECK(seen.end_s == doctest::Approx(27.5).epsilon(1e-12));
  CHECK(seen.crashes == 2);
  CHECK(seen.lost_steps == 2);
  CHECK(seen.lost_work_s == doctest::Approx(2.5 + 1).epsilon(1e-12));
}

TEST_CASE("a checkpoint stops the worker that writes it") {
  // After steps 2 and 4, 3 s each.
  const Seen seen = run([] {
    Job job = job_of_steps(4, train_together);
    job.failures.checkpoint_every = 2;
    job.failures.checkpoint_s = 3;
    return job;
  });
  CHECK(seen.end_s == doctest::Approx(10).epsilon(1e-12));
  CHECK(seen.crashes == 0);
}

TEST_CASE("who rejoins goes on at once with the replica of its checkpoint, who recomputes with its own") {
  for (const bool rejoins : {false, true}) {
    CAPTURE(rejoins);
    double model = -1, restarts = 0;
    Job job = job_of_steps(4, [&](Worker& worker) {
      worker.compute().recover_by(rejoins ? Recovery::rejoin : Recovery::recompute, [&] { ++restarts; });
      while (worker.next_step()) {
        worker.compute().gradient();
        const float last = worker.executor().get(worker.replica().parameters()).values[0];
        worker.replica().set(worker.executor().constant(
            {std::vector<float>(worker.replica().size(), worker.step() == 1 ? 1.0F : last + 1), {}, {}}));
      }
      if (worker.rank() == 0)
        model = static_cast<double>(worker.executor().get(worker.replica().parameters()).values[0]);
    });
    add_learner(job, 4, 64);
    job.failures.crashes = {{0, 2.5}};
    job.failures.checkpoint_every = 1000;
    const double end_s = simulate_job(job).workers[0].end_s;
    // Rejoining: steps 3 and 4 count on from the initial model, and nothing is computed again.
    CHECK(restarts == 1);
    CHECK(end_s == doctest::Approx(rejoins ? 14.5 : 16.5).epsilon(1e-12));
    if (rejoins)
      CHECK(model < 3);
    else
      CHECK(model == 4);
  }
}

TEST_CASE("random crashes come as often as their mean time between failures says") {
  // 2 workers, 20,000 s up in all each, one crash in 50 s: 800, standard deviation 28.
  const Seen seen = run([] {
    Job job = job_of_steps(10000, [](Worker& worker) {
      while (worker.next_step()) worker.compute().gradient();
    });
    job.failures.mean_time_between_s = 50;
    job.failures.restart_s = 0;
    job.stop.steps = 20000;
    return job;
  });
  CHECK(seen.crashes > 800 - 4 * 28);
  CHECK(seen.crashes < 800 + 4 * 28 + 40);  // gradients that were lost are computed again: a little longer up
}

}  // namespace simsgd::test::engine_outages
