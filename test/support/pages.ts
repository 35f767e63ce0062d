/** What pages say about their site, in tests of which it is not the subject. */
import type { SiteFrame } from '#lib/pages/layout.ts';

export const FRAME: SiteFrame = {
  site: { name: '', url: 'http://localhost:8080', contact: '' },
  hasExplorer: true,
};
