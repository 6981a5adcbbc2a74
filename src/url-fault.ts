/** Why a text cannot be the beginning of URLs, or undefined. */
export function findUrlFault(url: string, example = 'https://host/path'): string | undefined {
  if (!/^https?:\/\//i.test(url)) {
    return `does not begin with https:// or http://: write it as ${example}`;
  }
  // Spaces, quotes and braces would have to be escaped in the rules for Prometheus.
  if (!URL.canParse(url) || /[\s'{}]/.test(url))
    return `is not a valid URL: write it as ${example}`;
  const { username, password } = new URL(url);
  if (username !== '' || password !== '') {
    return 'holds a user or a password: remove them, or move them to username and password_file';
  }
  if (!/[?#]/.test(url)) return undefined;
  return 'has a query or a fragment: remove everything from the ? or # on';
}
