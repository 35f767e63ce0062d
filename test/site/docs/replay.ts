/** Sends the requests of a Postman 2.1 collection, as Postman does: what is disabled is left out. */
interface Named {
  readonly key: string;
  readonly value: string;
  readonly disabled?: boolean;
}

interface Item {
  readonly name: string;
  readonly item?: readonly Item[];
  readonly request?: {
    readonly method: string;
    readonly header?: readonly Named[];
    readonly url: {
      readonly path: readonly string[];
      readonly query?: readonly Named[];
      readonly variable?: readonly Named[];
    };
  };
}

export type Collection = Pick<Item, 'item'>;

/** @param api replaces the base address @returns each response, with the name and address of its request */
export async function replayCollection(collection: Collection, api: string, key: string) {
  const requests = (items: readonly Item[] = []): Item[] =>
    items.flatMap((each) => (each.request === undefined ? requests(each.item) : each));
  const sent = requests(collection.item).map(async ({ name, request }) => {
    const { method, url, header = [] } = request as NonNullable<Item['request']>;
    const values = new Map(url.variable?.map((each) => [`:${each.key}`, each.value]));
    const path = url.path.map((segment) => values.get(segment) ?? segment).join('/');
    const isSent = ({ disabled }: Named) => disabled !== true;
    const query = (url.query ?? []).filter(isSent).map((each) => [each.key, each.value]);
    const headers = header.filter(isSent).map((each) => [each.key, each.value]);
    const target = `/${path}?${new URLSearchParams(query)}`;
    const response = await fetch(api + target, {
      method,
      headers: [...headers, ['Authorization', `Bearer ${key}`]] as [string, string][],
    });
    return { name, target, status: response.status, text: await response.text() };
  });
  return Promise.all(sent);
}
