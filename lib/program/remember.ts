/** A function that computes each result once. */
export function remember<In, Out>(compute: (input: In) => Out): (input: In) => Out {
  const results = new Map<In, Out>();
  return (input) => {
    if (!results.has(input)) results.set(input, compute(input));
    return results.get(input) as Out;
  };
}
