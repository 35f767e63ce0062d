/** The product: the real proxy with the generation in the folder, over HTTP. */
import { findInProduct } from '../../../proxy/search/judged/product-search.ts';
import { startProductOn } from '../start-product.ts';
import type { JudgedEngine } from './engine.ts';

export async function openProduct(folder: string): Promise<JudgedEngine> {
  const { url, key, stop } = await startProductOn(folder);
  return { find: findInProduct(url, key), close: stop };
}
