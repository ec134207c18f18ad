// Every bound of the library, in one place.
#ifndef GRAMMASK_LIMITS_H_
#define GRAMMASK_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace grammask {

// Bounds on the work and memory that one input may ask for. Every front end and stage takes its
// bounds from here; over a bound the call ends in kResourceExhausted with a message that names the
// bound. The defaults admit every real schema known to us and stop hostile input within seconds.
struct Limits {
  size_t max_source_bytes = size_t{64} << 20;  // text of one grammar, regex or schema
  int max_nesting = 10'000;  // parentheses, And and Not, JSON nesting, $ref chains
  // Lookarounds inside one another; of saved grammars, lists of members.
  int max_boolean_nesting = 64;
  int64_t max_repeat = int64_t{1} << 40;  // a bound of a repetition such as {0,4000}
  size_t max_ast_nodes = 20'000'000;      // nodes of one grammar
  // States explored to decide which intersections of one grammar match nothing; one of many parts
  // counts as several.
  size_t max_regular_states = 1'000'000;
  // What one mask may ask for: states explored to decide whether one intersection matches nothing;
  // bytes of new automaton states and of sets of them; and states asked for, known or new, with
  // what they are made of, and items of sets by sixteens, some 30 to 100 ns each.
  size_t max_mask_states = 20'000;
  size_t max_mask_bytes = size_t{256} << 20;
  size_t max_mask_steps = 25'000'000;
  size_t max_schema_steps = 5'000'000;  // combining steps of one JSON Schema
  // Automaton states, parser sets and masks of a compiler; a quarter more while outputs end that
  // began in older tables. On Linux nine sixteenths of it, 128 MB at most, are taken when the
  // process's first compiler is made, and shared by all of them.
  size_t arena_bytes = size_t{64} << 20;
};

}  // namespace grammask

#endif  // GRAMMASK_LIMITS_H_
