// A scene is a test with a stage of its own. Whatever one of its pages complains of fails it,
// whether or not the scene looked for it.

import { after, test } from 'node:test';

import { Stage, closed } from './stage.mjs';

after(closed);

/** A test whose name is a sentence, and which gets a stage. */
export function scene(name, act) {
  test(name, async () => {
    const stage = new Stage(name);
    try {
      await act(stage);
      stage.assertQuiet();
    } catch (error) {
      await stage.keepPictures();
      throw error;
    } finally {
      await stage.close();
    }
  });
}
