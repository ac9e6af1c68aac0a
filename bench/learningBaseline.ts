/**
 * What the ranking is compared with: cosine over character 3-5-grams within words, weighted by TF-IDF, as scikit-learn's
 * TfidfVectorizer does it (`analyzer='char_wb'`, or `'char'`).
 */
export type Analyzer = 'char_wb' | 'char';

export interface Hit {
  document: number;
  score: number;
}

const LENGTHS = [3, 4, 5];

export function createBaseline(titles: readonly string[], analyzer: Analyzer): (question: string) => Hit[] {
  const counted = titles.map((title) => gramsOf(title, analyzer));
  const found = new Map<string, number>();
  for (const grams of counted) for (const gram of grams.keys()) found.set(gram, (found.get(gram) ?? 0) + 1);
  const weightOf = (gram: string) => Math.log((1 + titles.length) / (1 + found.get(gram)!)) + 1;
  const vectors = counted.map((grams) => vectorOf(grams, weightOf));

  return (question) => {
    const known = new Map([...gramsOf(question, analyzer)].filter(([gram]) => found.has(gram)));
    const asked = vectorOf(known, weightOf);
    const hits = vectors.map((vector, document) => {
      let score = 0;
      for (const [gram, weight] of asked) score += weight * (vector.get(gram) ?? 0);
      return { document, score };
    });
    return hits.sort((a, b) => b.score - a.score).slice(0, 3);
  };
}

function vectorOf(
  grams: ReadonlyMap<string, number>,
  weightOf: (gram: string) => number,
): Map<string, number> {
  const weights = [...grams].map(([gram, count]) => [gram, count * weightOf(gram)] as const);
  const length = Math.sqrt(weights.reduce((sum, [, weight]) => sum + weight ** 2, 0)) || 1;
  return new Map(weights.map(([gram, weight]) => [gram, weight / length]));
}

function gramsOf(text: string, analyzer: Analyzer): Map<string, number> {
  const grams = new Map<string, number>();
  const folded = text.toLowerCase().replace(/\s+/g, ' ');
  const pieces =
    analyzer === 'char'
      ? [folded]
      : folded
          .trim()
          .split(' ')
          .map((word) => ` ${word} `);
  for (const piece of pieces) {
    for (const length of LENGTHS) {
      for (let from = 0; from + length <= piece.length; from += 1) {
        const gram = piece.slice(from, from + length);
        grams.set(gram, (grams.get(gram) ?? 0) + 1);
      }
    }
  }
  return grams;
}
