<?xml version="1.0" encoding="UTF-8"?>
<!-- How a job's use went (/page/series, GET /v1/jobs/ID/series): one strip a metric over the job's time, its text, and the points as a table.
	A strip is 100 high and has one unit of width a point; the document has all figures, so that only positions are computed here. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">

<xsl:template name="timeline">
	<xsl:variable name="s" select="/page/series"/>
	<xsl:if test="$s/points/item">
		<h2>Use over time</h2>
		<xsl:call-template name="timeline-charts"><xsl:with-param name="s" select="$s"/></xsl:call-template>
		<p class="note">The points as <a href="/web/series/{$s/@job}.csv">CSV</a>, <a href="/web/series/{$s/@job}.json">JSON</a>.</p>
	</xsl:if>
	<xsl:if test="$s/@is_summed = 'false'"><p class="note">Use over time: the job's nodes measured at intervals that cannot be added up. Of one node:
		<xsl:for-each select="$s/nodes/item"><a href="/web/series/{$s/@job}?node={f:encode(@node)}"><xsl:value-of select="@node"/></a><xsl:text> </xsl:text></xsl:for-each></p></xsl:if>
</xsl:template>

<xsl:template name="timeline-charts">
	<xsl:param name="s"/>
	<xsl:variable name="n" select="count($s/points/item)"/>
	<p><xsl:value-of select="f:duration($s/@elapsed_s)"/> since the start at <xsl:value-of select="f:time($s/@started_ns)"/>,
		<xsl:value-of select="f:duration($s/@interval_s)"/> a point<xsl:if test="count($s/nodes/item) &gt; 1">, the sum of <xsl:value-of select="count($s/nodes/item)"/> nodes</xsl:if>.
		<xsl:if test="$s/@suspended_s &gt; 0">Suspended for <xsl:value-of select="f:duration($s/@suspended_s)"/>: shaded. </xsl:if>
		Where a bar is missing nothing was measured, or nothing used.</p>
	<xsl:for-each select="$s/metrics/item"><xsl:call-template name="strip"><xsl:with-param name="s" select="$s"/></xsl:call-template></xsl:for-each>
	<p class="axis" aria-hidden="true"><span>0:00:00</span>
		<span><xsl:value-of select="f:duration($s/points/item[1 + floor($n div 2)]/@from_s)"/></span>
		<span><xsl:value-of select="f:duration($s/@elapsed_s)"/></span></p>
	<details>
		<summary>The <xsl:value-of select="$n"/> points as a table</summary>
		<xsl:call-template name="timeline-table"><xsl:with-param name="s" select="$s"/></xsl:call-template>
	</details>
</xsl:template>

<!-- "cores", "gpus_busy": a number; all others are bytes. -->
<xsl:template name="amount">
	<xsl:param name="name"/>
	<xsl:param name="value"/>
	<xsl:choose>
		<xsl:when test="string($value) = ''">-</xsl:when>
		<xsl:when test="$name = 'cores' or $name = 'gpus_busy'"><xsl:value-of select="format-number($value, '0.##')"/></xsl:when>
		<xsl:otherwise><xsl:value-of select="f:bytes($value)"/></xsl:otherwise>
	</xsl:choose>
</xsl:template>

<xsl:template name="metric-title">
	<xsl:choose>
		<xsl:when test="@name = 'cores'">Cores in use</xsl:when>
		<xsl:when test="@name = 'mem_bytes'">Memory (mem)</xsl:when>
		<xsl:when test="@name = 'vmem_bytes'">Address space (vmem)</xsl:when>
		<xsl:when test="@name = 'jobfs_bytes'">Disk (jobfs)</xsl:when>
		<xsl:when test="@name = 'gpus_busy'">GPUs busy</xsl:when>
		<xsl:when test="@name = 'gpu_mem_bytes'">GPU memory</xsl:when>
	</xsl:choose>
</xsl:template>

<xsl:template name="metric-sentence">
	<xsl:choose>
		<xsl:when test="@most">at most <xsl:call-template name="amount"><xsl:with-param name="name" select="@name"/><xsl:with-param name="value" select="@most"/></xsl:call-template>,
			<xsl:call-template name="amount"><xsl:with-param name="name" select="@name"/><xsl:with-param name="value" select="@mean"/></xsl:call-template> on average<xsl:choose>
			<xsl:when test="@requested">, <xsl:call-template name="amount"><xsl:with-param name="name" select="@name"/><xsl:with-param name="value" select="@requested"/></xsl:call-template> requested (dashed line)</xsl:when>
			<xsl:otherwise>; none requested</xsl:otherwise></xsl:choose>.</xsl:when>
		<xsl:otherwise>not measured.</xsl:otherwise>
	</xsl:choose>
</xsl:template>

<!-- Of a metric. Each point that was measured is a closed box of the path: left, top, one to the right, down. -->
<xsl:template name="strip">
	<xsl:param name="s"/>
	<xsl:variable name="name" select="@name"/>
	<xsl:variable name="full"><xsl:choose><xsl:when test="@full &gt; 0"><xsl:value-of select="@full"/></xsl:when><xsl:otherwise>1</xsl:otherwise></xsl:choose></xsl:variable>
	<figure class="strip">
		<figcaption><strong><xsl:call-template name="metric-title"/></strong>: <xsl:call-template name="metric-sentence"/></figcaption>
		<svg viewBox="0 0 {count($s/points/item)} 100" preserveAspectRatio="none" aria-hidden="true" focusable="false">
			<path class="use"><xsl:attribute name="d"><xsl:for-each select="$s/points/item">
				<xsl:variable name="v" select="@*[name() = $name]"/>
				<xsl:if test="$v &gt; 0"><xsl:value-of select="concat('M', position() - 1, ' 100V', format-number(100 - 100 * $v div $full, '0.#'), 'h1V100z')"/></xsl:if>
			</xsl:for-each></xsl:attribute></path>
			<xsl:for-each select="$s/points/item[@suspended_s &gt; 0]">
				<rect class="pause" x="{count(preceding-sibling::item)}" y="0" height="100" width="{format-number(@suspended_s div (@to_s - @from_s), '0.##')}"/>
			</xsl:for-each>
			<xsl:if test="@requested">
				<line class="request" x1="0" x2="{count($s/points/item)}" y1="{format-number(100 - 100 * @requested div $full, '0.#')}" y2="{format-number(100 - 100 * @requested div $full, '0.#')}"/>
			</xsl:if>
		</svg>
	</figure>
</xsl:template>

<xsl:template name="timeline-table">
	<xsl:param name="s"/>
	<div class="scroll" tabindex="0" role="region" aria-label="Points"><table>
		<thead><tr><th scope="col" class="figure">From</th><th scope="col" class="figure">To</th>
			<xsl:for-each select="$s/metrics/item"><th scope="col" class="figure"><xsl:call-template name="metric-title"/></th></xsl:for-each>
			<xsl:if test="$s/@suspended_s &gt; 0"><th scope="col" class="figure">Suspended</th></xsl:if></tr></thead>
		<tbody><xsl:for-each select="$s/points/item">
			<xsl:variable name="point" select="."/>
			<tr><td class="figure"><xsl:value-of select="f:duration(@from_s)"/></td><td class="figure"><xsl:value-of select="f:duration(@to_s)"/></td>
			<xsl:for-each select="$s/metrics/item"><td class="figure"><xsl:call-template name="amount">
				<xsl:with-param name="name" select="@name"/><xsl:with-param name="value" select="$point/@*[name() = current()/@name]"/>
			</xsl:call-template></td></xsl:for-each>
			<xsl:if test="$s/@suspended_s &gt; 0"><td class="figure"><xsl:value-of select="f:duration(@suspended_s)"/></td></xsl:if></tr>
		</xsl:for-each></tbody>
	</table></div>
</xsl:template>
</xsl:stylesheet>
