// Codecs of messages (network.codec): every method that sends gradients or models takes them, sends exactly
// the codec's bits, and learns; where it cannot, that is said. What error feedback gives back, and what
// encoding costs.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "algorithms/plugin.hpp"
#include "sim/cluster/kernels.hpp"
#include "tests/algorithms/model_workers.hpp"
#include "tests/algorithms/recorded_scenarios.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/support/numbers.hpp"

namespace simsgd::test::algorithms_codecs {

using doctest::Approx;

namespace {

using Codecs = AlgorithmUses::Codecs;

// Of numbers of 32 bits: 16 whatever the length, and 33 of a codec that is sparse and sends all of them.
const Json kDense = {{"name", "fp16"}};
const Json kSparse = {{"name", "chunk_topk"}, {"chunk", 2}, {"k", 2}};

/// Workers do the same at all times, and messages take next to none of it: who exchanges with whom, and how
/// often, does not depend on how long messages are.
Json alike(Json scenario) {
  scenario["stragglers"] = Json::array();
  scenario["workload"]["compute_factor"] = 1;
  scenario["learner"] = nullptr;
  scenario.erase("record");
  scenario["network"]["slow_links"] = {{{"bandwidth_factor", 1e6}}};
  return scenario;
}

Json with_codec(Json scenario, const Json& codec) {
  scenario["network"]["codec"] = codec;
  return scenario;
}

struct Sent {
  double gradient = 0, model = 0;
};
Sent sent_in(const Json& scenario) {
  Sent all;
  for (const WorkerRecord& worker : simulate_job(job_of(scenario)).workers) {
    all.gradient += sent_bytes(worker, Traffic::gradient);
    all.model += sent_bytes(worker, Traffic::model);
  }
  return all;
}

std::vector<const AlgorithmPlugin*> takers(bool of_sparse) {
  std::vector<const AlgorithmPlugin*> all;
  for (const AlgorithmPlugin& plugin : algorithm_plugins())
    if (plugin.uses.codecs == Codecs::any || (!of_sparse && plugin.uses.codecs == Codecs::dense))
      all.push_back(&plugin);
  return all;
}

}  // namespace

TEST_CASE("bytes on the wire are those without a codec, times its bits for each number over 32") {
  std::map<std::string, std::vector<Json>> scenarios = scenarios_by_algorithm();
  // A number that counts micro-batches or workers travels as it is, beside the model's.
  const std::set<std::string> counting = {"dropcompute", "nonblocking"};
  // By all-reduces of rings: 2 (P-1)/P of the vector; a sparse one is gathered, P - 1 of them. P = 8.
  const std::set<std::string> summed = {"allreduce_sgd", "bytescheduler", "d_kfac",    "des_loc",
                                        "dp_kfac",       "dropcompute",   "local_sgd", "mg_wfbp",
                                        "mpd_kfac",      "nonblocking",   "spd_kfac"};
  for (const bool sparse : {false, true})
    for (const AlgorithmPlugin* plugin : takers(sparse)) {
      const std::string& name = plugin->info.name;
      CAPTURE(name);
      CAPTURE(sparse);
      // Not by rings alone: log2 P messages, or broadcasts too.
      if (sparse && (name == "eager_sgd" || name == "wagma" || name == "dp_kfac")) continue;
      const Json scenario = alike(scenarios[name].front());
      const Sent before = sent_in(scenario);
      const Sent after = sent_in(with_codec(scenario, sparse ? kSparse : kDense));
      const double numbers = job_of(scenario).workload.parameters();
      const double bits = sparse ? 33 : 16, ways = sparse && summed.contains(name) ? 7 / (2 * 7 / 8.0) : 1;
      double rate = ways * bits / 32;
      if (counting.contains(name)) rate = ways * (bits * numbers + 32) / (32 * numbers + 32);
      if (name == "des_loc") rate = 0.8 * rate + 0.2;  // one of five vectors is Adam's, which is not coded
      if (name == "async_local_sgd" || name == "halos") {  // the last models may be late for the end
        const double messages = after.model / (numbers * bits / 8);
        CHECK(messages == Approx(std::round(messages)).epsilon(1e-12));
        CHECK(messages == Approx(before.model / (numbers * 4)).epsilon(0.2));
        continue;
      }
      CHECK(after.gradient == Approx(rate * before.gradient).epsilon(1e-12));
      CHECK(after.model == Approx(rate * before.model).epsilon(1e-12));
      if (name != "kfac") CHECK(before.gradient + before.model > 0);
    }
}

TEST_CASE("bytes on the wire, by hand") {
  // Three steps of 1e6 numbers on 4 workers. 8 bits and a scale for each 1,000: 1.004e6 bytes; a bit and a
  // scale: 0.129e6; 4 of each 64 with 6 bits and their value: 0.296875e6.
  const auto sent = [](const std::string& algorithm, const Json& parameters, const Json& codec) {
    Job job = scripted_job(star(4, 0, 1e9), nullptr, 1e6);
    use_rings(job);
    job.network.coding.codec = make_codec(codec);
    use_algorithm(job, algorithm, parameters);
    job.stop.steps = 3;
    const WorkerRecord worker = simulate_job(job).workers[1];
    return sent_bytes(worker, Traffic::gradient) + sent_bytes(worker, Traffic::model);
  };
  const Json integer = {{"name", "integer"}, {"block", 1000}}, sign = {{"name", "sign"}, {"block", 1000}},
             few = {{"name", "chunk_topk"}, {"chunk", 64}, {"k", 4}};
  CHECK(sent("allreduce_sgd", Json::object(), integer) == Approx(3 * 1.5 * 1.004e6).epsilon(1e-12));
  CHECK(sent("allreduce_sgd", Json::object(), few) == Approx(3 * 3 * 0.296875e6).epsilon(1e-12));
  CHECK(sent("local_sgd", {{"period", 3}}, sign) == Approx(1.5 * 0.129e6).epsilon(1e-12));
  CHECK(sent("dear", Json::object(), sign) == Approx(3 * 1.5 * 0.129e6).epsilon(1e-12));
  CHECK(sent("noloco", {{"inner_steps", 3}}, integer) == Approx(2 * 1.004e6).epsilon(1e-12));
  CHECK(sent("sgp", Json::object(), few) == Approx(3 * 0.296875e6).epsilon(1e-12));
  CHECK(sent("parameter_server", {{"servers", 1}}, sign) == Approx(3 * 0.129e6).epsilon(1e-12));
}

TEST_CASE("every method learns by every kind of codec: a bit a number, few numbers, random levels, 4 bits") {
  std::map<std::string, std::vector<Json>> scenarios = scenarios_by_algorithm();
  const Json codecs[] = {{{"name", "sign"}, {"block", 64}},
                         {{"name", "chunk_topk"}, {"chunk", 16}, {"k", 4}},
                         {{"name", "dct_topk"}, {"chunk", 16}, {"k", 4}},
                         {{"name", "qsgd"}, {"levels", 127}},
                         {{"name", "integer"}, {"bits", 4}},
                         {{"name", "e3m0"}}};
  for (const Json& codec : codecs)
    for (const AlgorithmPlugin* plugin : takers(make_codec(codec)->sparse())) {
      CAPTURE(plugin->info.name);
      CAPTURE(codec.dump());
      Json scenario = with_codec(scenarios[plugin->info.name].front(), codec);
      scenario["stop"]["steps"] = 24;
      const std::vector<double> losses = losses_of(simulate_job(job_of(scenario)));
      for (const double loss : losses) CHECK(std::isfinite(loss));
      // K-FAC's inverses multiply a codec's noise.
      if (plugin->info.name.find("kfac") == std::string::npos) CHECK(losses.back() < losses.front());
    }
}

TEST_CASE("fp16 as a codec is fp16 as the precision, to the last bit") {
  std::map<std::string, std::vector<Json>> scenarios = scenarios_by_algorithm();
  for (const AlgorithmPlugin* plugin : takers(false)) {
    const std::vector<Traffic>& sends = plugin->uses.sends;
    const bool others = std::any_of(sends.begin(), sends.end(), [](Traffic each) {
      return each != Traffic::gradient && each != Traffic::model;
    });
    // Factors, and the vectors of an optimizer, have the precision alone.
    if (others || plugin->info.name == "des_loc" || plugin->info.name == "kfac") continue;
    CAPTURE(plugin->info.name);
    Job coded = job_of(scenarios[plugin->info.name].front());
    coded.network.coding.codec = make_codec({{"name", "fp16"}});
    coded.network.coding.feedback = 0;
    Job narrow = job_of(scenarios[plugin->info.name].front());
    narrow.network.precision = Precision::fp16;
    CHECK(run_fake(coded).models == run_fake(narrow).models);
  }
}

TEST_CASE("with error feedback all of a change arrives in the end, and models come to their mean") {
  const Json codecs[] = {{{"name", "sign"}, {"block", 8}},
                         {{"name", "chunk_topk"}, {"chunk", 8}, {"k", 1}},
                         {{"name", "integer"}, {"bits", 4}},
                         {{"name", "qsgd"}, {"levels", 3}}};
  for (const Json& codec : codecs)
    for (const Traffic traffic : {Traffic::gradient, Traffic::model}) {
      CAPTURE(codec.dump());
      CAPTURE(static_cast<int>(traffic));
      constexpr std::uint64_t kTimes = 200;
      Job job = scripted_job(star(3, 1e-6, 1e9), nullptr, 36);
      add_learner(job, 8);
      job.stop.steps = kTimes;
      job.network.coding.codec = make_codec(codec);
      // Worker r sends sin(1 + i + r) as its i-th number: always, or then the mean that it got.
      const auto number = [](std::size_t i, int r) { return std::sin(1.0 + static_cast<double>(i) + r); };
      std::vector<double> sum(36, 0.0), last(36, 0.0), given;
      for (std::size_t i = 0; i < 36; ++i) given.push_back((number(i, 0) + number(i, 1) + number(i, 2)) / 3);
      job.algorithm = std::make_unique<ScriptedAlgorithm>([&](Worker& worker) {
        std::vector<float> values;
        for (std::size_t i = 0; i < 36; ++i) values.push_back(static_cast<float>(number(i, worker.rank())));
        while (worker.next_step()) {
          (void)worker.compute().gradient();
          const Tensor mean = mean_over_all(worker, worker.executor().constant({values, {}, {}}), traffic);
          const std::vector<float>& mine = worker.executor().get(mean).values;
          if (traffic == Traffic::model) values = mine;
          if (worker.rank() > 0) continue;
          for (std::size_t i = 0; i < 36; ++i) {
            sum[i] += mine[i];
            last[i] = mine[i];
          }
        }
      });
      simulate_job(job);
      for (double& each : sum) each /= static_cast<double>(kTimes);
      if (traffic == Traffic::gradient)
        CHECK(worst_difference(sum, given) < 0.08);  // an error of up to about 10 numbers, over 200 messages
      else
        CHECK(worst_difference(last, given) < 1e-3);
    }
}

TEST_CASE("models that travel by codecs come together, near their mean, and with all-reduces at it") {
  for (const std::string name : {"d_psgd", "matcha", "sgp", "ad_psgd", "local_sgd"})
    for (const Json& codec : {Json{{"name", "integer"}, {"block", 36}}, Json{{"name", "sign"}, {"block", 9}},
                              Json{{"name", "chunk_topk"}, {"chunk", 9}, {"k", 3}}}) {
      CAPTURE(name);
      CAPTURE(codec.dump());
      Job job = learning_job(4, "allreduce_sgd", Json::object(), 60);
      job.graph = job_of([] {
                    Json scenario = small_scenario();
                    scenario["algorithm"] = {{"name", "d_psgd"}};
                    return scenario;
                  }())
                      .graph;
      job.optimizer.learning_rate.base = 0;
      job.network.coding.codec = make_codec(codec);
      for (const AlgorithmPlugin& plugin : algorithm_plugins())
        if (plugin.info.name == name)
          job.algorithm = plugin.make(Json::object(), {.workers = 4,
                                                       .workload = &job.workload,
                                                       .seed = 1,
                                                       .cluster = &job.cluster,
                                                       .graph = &job.graph});
      const std::vector<float> start = job.learner->initial_parameters();
      std::vector<std::vector<float>> drawn;
      for (std::uint32_t rank = 0; rank < 4; ++rank) {
        Stream draws({7, Purpose::resampling, rank, 0});
        std::vector<float>& mine = drawn.emplace_back(start);
        for (float& value : mine) value += static_cast<float>(0.1 * draws.normal());
      }
      job.algorithm = std::make_unique<ScriptedAlgorithm>(
          [&drawn, of = std::shared_ptr<const Algorithm>(std::move(job.algorithm))](Worker& worker) {
            worker.replica().set(
                worker.executor().constant({drawn[static_cast<std::size_t>(worker.rank())], {}, {}}));
            of->run(worker);
          });
      const std::vector<std::vector<float>> models = run_fake(job).models;
      double apart = 0, drift = 0, spread = 0;
      for (std::size_t i = 0; i < start.size(); ++i) {
        double before = 0, after = 0;
        for (std::size_t rank = 0; rank < 4; ++rank) {
          before += drawn[rank][i] / 4;
          after += models[rank][i] / 4;
        }
        drift = std::max(drift, std::abs(after - before));
        for (std::size_t rank = 0; rank < 4; ++rank)
          apart = std::max(apart, std::abs(drawn[rank][i] - before));
        for (std::size_t rank = 0; rank < 4; ++rank)
          spread = std::max(spread, std::abs(models[rank][i] - after));
      }
      CHECK(drift < (name == "local_sgd" ? 1e-4 : 0.5) * apart);
      CHECK(spread < 1e-3 * apart);
    }
}

TEST_CASE("a codec's kernels are at both ends of an operation or a message") {
  // 1e6 numbers at 1e9 B/s; 8 bits and a scale for each 1,000: 1.004e6 bytes. Quantising takes 2e-9 s a
  // number; decoding reads 1.004e6 bytes and writes 4e6 at 1e12 B/s.
  const auto seconds = [](const std::function<void(Worker&)>& body, bool coded) {
    Job job = scripted_job(star(2, 0, 1e9), body, 1e6);
    use_rings(job);
    job.cluster.device.quantise_s = Cost(2e-9);
    job.cluster.device.memory_Bps = 1e12;
    if (coded) job.network.coding.codec = make_codec({{"name", "integer"}, {"block", 1000}});
    return simulate_job(job).end_s;
  };
  const auto mean = [](Traffic traffic) {
    return [traffic](Worker& worker) {
      while (worker.next_step()) mean_over_all(worker, {}, traffic);
    };
  };
  const auto message = [](Worker& worker) {
    if (!worker.next_step()) return;
    if (worker.rank() == 0) worker.messages().send(1, 0, {.bytes = 4e6, .traffic = Traffic::model});
    if (worker.rank() == 1) (void)worker.messages().receive(0, 0);
    (void)worker.next_step();
  };
  Device device;
  device.memory_Bps = 1e12;
  const double decode_s = vector_pass_s(device, {.read = 1.004e6, .written = 4e6});
  CHECK(decode_s > 5e-6);
  CHECK(seconds(mean(Traffic::gradient), true) == Approx(2e-3 + 1.004e-3 + decode_s).epsilon(1e-9));
  CHECK(seconds(message, true) == Approx(2e-3 + 1.004e-3 + decode_s).epsilon(1e-9));
  CHECK(seconds(mean(Traffic::gradient), false) == Approx(4e-3).epsilon(1e-9));
  CHECK(seconds(mean(Traffic::factor), true) == Approx(4e-3).epsilon(1e-9));
}

TEST_CASE("a codec that a method cannot send by is refused with the remedy") {
  const auto said = [](const std::string& algorithm, const Json& codec) {
    Json scenario = small_scenario();
    scenario["algorithm"] = {{"name", algorithm}};
    scenario["network"]["codec"] = codec;
    return errors_of(scenario);
  };
  CHECK(said("allreduce_sgd", {{"name", "sign"}}) == "");
  CHECK(said("dear", {{"name", "sign"}}) == "");
  CHECK(
      said("dear", {{"name", "chunk_topk"}})
          .find(
              "s.json:/network/codec: sends few of the numbers, and the reduce-scatters of dear add up all of them.") !=
      std::string::npos);
  CHECK(said("coded_sgd", {{"name", "sign"}})
            .find("s.json:/network/codec: codes messages that coded_sgd codes itself.") != std::string::npos);
  CHECK(said("powersgd", {{"name", "sign"}})
            .find("s.json:/network/codec: codes messages that powersgd has coded already.") !=
        std::string::npos);
  CHECK(said("allreduce_sgd", {{"name", "integer"}, {"bits", 1}}).find("s.json:/network/codec/bits: ") !=
        std::string::npos);
  CHECK(said("allreduce_sgd", {{"name", "qsgd"}})
            .find("s.json:/network/codec: loses more of a message than is in it") != std::string::npos);
  CHECK(said("allreduce_sgd", {{"name", "qsgd"}, {"levels", 31}}) == "");
  CHECK(errors_with("/network/error_feedback", true)
            .find("s.json:/network/error_feedback: has no effect without a codec") != std::string::npos);
  for (const AlgorithmPlugin& plugin : algorithm_plugins()) {
    CAPTURE(plugin.info.name);
    const bool own = plugin.uses.codecs == Codecs::own;
    Json form;
    plugin.form(form);
    CHECK(form["properties"].contains("codec") == own);
  }
}

}  // namespace simsgd::test::algorithms_codecs
